import type { AuditEvent } from "./schema.ts";
import { asEvent } from "./chain.ts";

/** The place of the evidence in the page. */
export const PLACE = "<!--evidence-->";

/** Each of these, and each event, is a line of its own, because programs read a bundle by lines. */
export const PROOF_OPEN = '<script type="application/json" data-gate="proof">';
export const EVENTS_OPEN = '<script type="application/json" data-gate="events">';
export const CLOSE = "</script>";

/** JSON that cannot end its `<script>` element. */
export function toBundleLine(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

/** An event as a line of a JSON export. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value);
}

/** The event of a line; null unless `toLine` writes the event as exactly this line. */
export function readLine(line: string, toLine: (event: AuditEvent) => string): AuditEvent | null {
  try {
    const event = asEvent(JSON.parse(line));
    return event !== null && toLine(event) === line ? event : null;
  } catch {
    return null;
  }
}
