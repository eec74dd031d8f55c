import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface FormProps {
  /** The name of the form for screen readers. */
  label: string;
  /** The name of its button. */
  verb: string;
  busy: boolean;
  onSubmit: () => void;
  onCancel?: (() => void) | undefined;
  children: ComponentChildren;
}

/** A form with one field below the other, and its buttons at the end. */
export function Form({ label, verb, busy, onSubmit, onCancel, children }: FormProps) {
  return (
    <form
      class="form"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      <div class="room-buttons">
        <SubmitButton verb={verb} busy={busy} kind="primary" />
        {onCancel && <Button kind="quiet" onClick={onCancel}>Back</Button>}
      </div>
    </form>
  );
}

// The daemon says in words what does not fit, so the browser checks little by itself.
const MODES = { text: "text", url: "url", email: "email", number: "numeric" } as const;

interface TextFieldProps {
  label: string;
  value: Signal<string>;
  type?: keyof typeof MODES;
  required?: boolean;
  maxLength?: number;
  /** More than one line. */
  rows?: number;
}

/** A text with its label. */
export function TextField(props: TextFieldProps) {
  const { label, value, type = "text", required, maxLength = 4096, rows } = props;
  const id = useId();
  const shared = {
    ...{ id, required, maxLength, spellcheck: false, autocomplete: "off", value: value.value },
    onInput: (event: { currentTarget: { value: string } }) =>
      value.value = event.currentTarget.value,
  };
  return (
    <>
      <label for={id}>{label}</label>
      {rows === undefined
        ? (
          <span class="field">
            <input {...shared} inputMode={MODES[type]} />
          </span>
        )
        : <textarea {...shared} rows={rows} />}
    </>
  );
}

interface SelectFieldProps<T extends string> {
  label: string;
  value: Signal<T>;
  options: readonly T[];
}

/** A choice between a few words, with its label. */
export function SelectField<T extends string>({ label, value, options }: SelectFieldProps<T>) {
  const id = useId();
  return (
    <>
      <label for={id}>{label}</label>
      <span class="choice">
        <select
          id={id}
          value={value.value}
          onChange={(event) => value.value = event.currentTarget.value as T}
        >
          {options.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
        <Icon name="chevron" />
      </span>
    </>
  );
}

interface LineFormProps {
  /** The name of the form for screen readers. */
  name: string;
  label: string;
  icon: IconName;
  value: Signal<string>;
  maxLength: number;
  placeholder: string;
  verb: string;
  busy: boolean;
  onSubmit: () => void;
  /** What stands below the field. */
  children?: ComponentChildren;
}

/** A form of one field with its button beside it. */
export function LineForm(props: LineFormProps) {
  const { name, label, icon, value, maxLength, placeholder, verb, busy, onSubmit, children } =
    props;
  const id = useId();
  return (
    <form
      class="line-form"
      aria-label={name}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <label for={id}>{label}</label>
      <div class="line-form-field">
        <span class="field">
          <Icon name={icon} />
          <input
            id={id}
            required
            maxLength={maxLength}
            spellcheck={false}
            autocomplete="off"
            placeholder={placeholder}
            value={value.value}
            onInput={(event) => value.value = event.currentTarget.value}
          />
        </span>
        <SubmitButton verb={verb} busy={busy} kind="plain" />
      </div>
      {children}
    </form>
  );
}

interface SubmitProps {
  verb: string;
  busy: boolean;
  kind: "primary" | "plain";
}

function SubmitButton({ verb, busy, kind }: SubmitProps) {
  return (
    <button type="submit" class={`button button-${kind}`} aria-disabled={busy ? "true" : undefined}>
      <Icon name="check" />
      <span>{verb}</span>
    </button>
  );
}
