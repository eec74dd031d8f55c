import type { AuditEvent } from "../../evidence/schema.ts";

/** The columns, in order; `store.ts` beside this one writes the same by SQL. */
const COLUMNS: [name: string, value: (event: AuditEvent) => unknown][] = [
  ["seq", ({ seq }) => seq],
  ["at", ({ at }) => at],
  ["project_id", ({ project_id }) => project_id],
  ["type", ({ type }) => type],
  ["actor_kind", ({ actor }) => actor.kind],
  ["actor_id", ({ actor }) => actor.id],
  ["session_id", ({ session_id }) => session_id],
  ["action_id", ({ action_id }) => action_id],
  ["tool", ({ data }) => data.tool],
  ["path", ({ data }) => data.path],
  ["command", ({ data }) => data.command],
  ["status", ({ data }) => data.status],
  ["reason", ({ data }) => data.reason],
  ["data", ({ data }) => JSON.stringify(data)],
  ["prev_hash", ({ prev_hash }) => prev_hash],
  ["hash", ({ hash }) => hash],
];

/** The first line (RFC 4180). */
export const CSV_HEADER = `${COLUMNS.map(([name]) => name).join(",")}\r\n`;

/** One event as one line. */
export function toCsvLine(event: AuditEvent): string {
  return `${COLUMNS.map(([, value]) => toCell(value(event))).join(",")}\r\n`;
}

/** What a spreadsheet may take for a formula, also after blanks or in its full-width form. */
const FORMULA = /^(?:[\s\0]*[=+\-@＝＋－＠]|[\t\r\n\0'])/;

/**
 * A value that no spreadsheet computes: `'` stands before what might be a formula, and before a `'`,
 * so that taking away one leading `'` gives every value back. Text is always quoted.
 */
export function toCell(value: unknown): string {
  if (value === null || value === undefined) return '""';
  if (typeof value === "number") return value < 0 ? `'${value}` : String(value);
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
