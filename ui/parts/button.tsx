import type { ComponentChildren } from "preact";
import { showKey } from "../state/keys.ts";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps {
  children: ComponentChildren;
  onClick: () => void;
  keys?: string;
  icon?: IconName;
  kind?: "primary" | "danger" | "plain" | "quiet";
  disabled?: boolean;
  busy?: boolean;
  pressed?: boolean;
  title?: string;
}

/** A button that shows its keyboard shortcut. */
export function Button(props: ButtonProps) {
  return (
    <button
      type="button"
      class={`button button-${props.kind ?? "plain"}`}
      onClick={props.onClick}
      disabled={props.disabled}
      aria-disabled={props.busy ? "true" : undefined}
      aria-pressed={props.pressed}
      aria-keyshortcuts={props.keys}
      title={props.title}
    >
      {props.icon && <Icon name={props.icon} />}
      <span>{props.children}</span>
      {props.keys && <Key keys={props.keys} />}
    </button>
  );
}

/** A keyboard shortcut. */
export function Key({ keys }: { keys: string }) {
  return <kbd class="key" aria-hidden="true">{showKey(keys)}</kbd>;
}

export interface SegmentedProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}

/** A choice between a few visible options. */
export function Segmented<T extends string>(props: SegmentedProps<T>) {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === props.value}
          onClick={() => props.onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
