import type { AuditEvent } from "./schema.ts";
import { asEvent } from "./chain.ts";

/** Where the evidence goes in the page that shows it. */
export const PLACE = "<!--evidence-->";

/** Each of these is a line of its own, as is each event: programs read a bundle by its lines. */
export const PROOF_OPEN = '<script type="application/json" data-gate="proof">';
export const EVENTS_OPEN = '<script type="application/json" data-gate="events">';
export const CLOSE = "</script>";

/** JSON that is the same value, but cannot end the element that it stands in. */
export function toBundleLine(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

/** A line of an export in JSON. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value);
}

/** The event of a line; null unless the line is, to the letter, how `toLine` writes that event. */
export function readLine(line: string, toLine: (event: AuditEvent) => string): AuditEvent | null {
  try {
    const event = asEvent(JSON.parse(line));
    return event !== null && toLine(event) === line ? event : null;
  } catch {
    return null;
  }
}
