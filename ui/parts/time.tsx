import { now } from "../state/live.ts";
import { agoOf, exactOf, spanOf } from "./words.ts";

/** How long since, with the exact moment on hover; `said` makes it part of a sentence. */
export function Ago({ at, said }: { at: string; said?: boolean }) {
  const span = agoOf(at, now.value);
  const words = !said ? span : span === "now" ? "just now" : `${span} ago`;
  return <time class="time" dateTime={at} title={exactOf(at)}>{words}</time>;
}

/** How long until, with the exact moment on hover. */
export function Until({ at }: { at: string }) {
  const seconds = (Date.parse(at) - now.value) / 1000;
  return <time class="time" dateTime={at} title={exactOf(at)}>{spanOf(seconds)}</time>;
}
