import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useId, useLayoutEffect } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";

interface PassphraseFieldProps {
  label: string;
  value: Signal<string>;
  complete: "current-password" | "new-password";
  isBusy: boolean;
  /** Gets the focus when it appears. */
  field?: RefObject<HTMLInputElement | null>;
  hint?: string;
}

/** A field for a passphrase. It keeps the focus while the page works. */
export function PassphraseField(props: PassphraseFieldProps) {
  const id = useId();
  useLayoutEffect(() => props.field?.current?.focus(), []);
  return (
    <div class="proof-field">
      <label for={id}>{props.label}</label>
      <span class="field">
        <Icon name="key" />
        <input
          id={id}
          ref={props.field}
          type="password"
          // The dialog gives it the focus when it opens.
          autofocus={props.field !== undefined}
          autocomplete={props.complete}
          spellcheck={false}
          maxLength={1024}
          value={props.value.value}
          readOnly={props.isBusy}
          aria-describedby={props.hint ? `${id}-hint` : undefined}
          onInput={(event) => props.value.value = event.currentTarget.value}
        />
      </span>
      {props.hint && <p class="quiet small" id={`${id}-hint`}>{props.hint}</p>}
    </div>
  );
}

/** A failure, read out by screen readers when it appears. */
export function Trouble({ text }: { text: string | null }) {
  return (
    <div role="alert">
      {text !== null && (
        <p class="notice tone-danger">
          <Icon name="alert" />
          <Text as="span" value={text} />
        </p>
      )}
    </div>
  );
}

/** The progress of deriving a key; its space is kept while there is none. */
export function Progress({ part, label }: { part: number | null; label: string }) {
  return (
    <div class="proof-progress">
      {part !== null && <progress value={part} max={1} aria-label={label} />}
    </div>
  );
}
