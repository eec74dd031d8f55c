import { useSignal } from "@preact/signals";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { number } from "../parts/words.ts";

const SHOWN = 160;

/** Text from an agent; of a long one the beginning, with a button for the rest. */
export function Long({ value }: { value: string }) {
  const whole = useSignal(false);
  const rest = value.length - SHOWN;
  if (rest <= 20 || whole.value) return <Text value={value} />;
  // A pair of surrogates is not cut in two.
  const at = /[\ud800-\udbff]/.test(value[SHOWN - 1]!) ? SHOWN - 1 : SHOWN;
  return (
    <>
      <Text value={value.slice(0, at)} />…{" "}
      <button type="button" class="link" onClick={() => whole.value = true}>
        Show {number(value.length - at)} more characters
      </button>
    </>
  );
}

/** Fullness from which a bar warns. */
const NEARLY = 80;
const FULL = 95;

/** A share as a bar. The words next to it say the same. */
export function Bar({ percent }: { percent: number }) {
  const width = Math.max(0, Math.min(100, percent));
  return (
    <svg
      class={`bar tone-${toneOf(percent)}`}
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect class="bar-rest" width="100" height="6" />
      <rect class="bar-used" width={width} height="6" />
    </svg>
  );
}

/** The word for a bar that is nearly full. */
export function Fullness({ percent }: { percent: number }) {
  if (percent < NEARLY) return null;
  return (
    <span class={`badge tone-${toneOf(percent)}`}>
      <Icon name="alert" />
      {percent < FULL ? "nearly full" : "full"}
    </span>
  );
}

function toneOf(percent: number): string {
  return percent < NEARLY ? "accent" : percent < FULL ? "warn" : "danger";
}
