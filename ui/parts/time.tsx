import { now } from "../state/live.ts";
import { agoOf, exactOf, spanOf } from "./words.ts";

/** The time since a moment, with the exact time as tooltip; `said` adds "ago". */
export function Ago({ at, said }: { at: string; said?: boolean }) {
  const span = agoOf(at, now.value);
  const words = !said ? span : span === "now" ? "just now" : `${span} ago`;
  return <time class="time" dateTime={at} title={exactOf(at)}>{words}</time>;
}

/** The time until a moment, with the exact time as tooltip; `said` begins with "expires in". */
export function Until({ at, said }: { at: string; said?: boolean }) {
  const span = spanOf((Date.parse(at) - now.value) / 1000);
  const words = said ? `expires in ${span}` : span;
  return <time class="time" dateTime={at} title={exactOf(at)}>{words}</time>;
}
