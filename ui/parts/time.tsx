import { now } from "../state/live.ts";
import { agoOf, exactOf, spanOf } from "./words.ts";

/** The time since a moment, with the exact time as tooltip; `said` adds "ago". */
export function Ago({ at, said }: { at: string; said?: boolean }) {
  const span = agoOf(at, now.value);
  const words = !said ? span : span === "now" ? "just now" : `${span} ago`;
  return <time class="time" dateTime={at} title={exactOf(at)}>{words}</time>;
}

/** The time until a moment, with the exact time as tooltip. */
export function Until({ at }: { at: string }) {
  const seconds = (Date.parse(at) - now.value) / 1000;
  return <time class="time" dateTime={at} title={exactOf(at)}>{spanOf(seconds)}</time>;
}
