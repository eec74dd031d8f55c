import type { AuditEvent } from "../evidence/schema.ts";

/** The columns in order. `CSV_LINE` below writes the same lines in SQL. */
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

/** The start of a text that a spreadsheet may read as a formula, also in full-width characters. */
const FORMULA = /^(?:[\s\0]*[=+\-@＝＋－＠]|[\t\r\n\0'])/;

/**
 * A value that no spreadsheet computes: a text that may be a formula, or that begins with `'`, gets a
 * `'` in front. Removing one leading `'` restores every value. Text is always quoted.
 */
export function toCell(value: unknown): string {
  if (value === null || value === undefined) return '""';
  if (typeof value === "number") return value < 0 ? `'${value}` : String(value);
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

/** The characters that JavaScript treats as white space; SQLite knows fewer. */
const BLANKS = "char(9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, " +
  "8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288, 65279)";

/** The characters that begin a formula; `char` gives the full-width forms. */
const STARTS = "'=', '+', '-', '@', char(65309), char(65291), char(65293), char(65312)";
const BREAKS = "char(9), char(10), char(13), ''''";

/** The values of one line, each computed once. `odd` is positive if SQLite cannot write the line. */
export const CSV_VALUES = `seq, at, project_id, type, actor ->> '$.kind' AS kind,
  actor ->> '$.id' AS actor, session_id, action_id, data ->> '$.tool' AS tool,
  data ->> '$.path' AS path, data ->> '$.command' AS command, data ->> '$.status' AS status,
  data ->> '$.reason' AS reason, data, prev_hash, hash,
  instr(actor, '\\u0000') + instr(data, '\\u0000') AS odd`;

/** The columns whose text does not come from the gate. */
const FREE = ["actor", "tool", "path", "command", "status", "reason"];

/** SQL for a line as `toCsvLine` writes it. Most rows need no `'`, so they take the shorter form. */
export const CSV_LINE = `CASE WHEN ${FREE.map(isHarmless).join(" AND ")}
  THEN ${lineOf('"%w"', (name) => `coalesce(${name}, '')`)}
  ELSE ${lineOf('"%s%w"', (name) => `${markOf(name)}, coalesce(${name}, '')`)} END`;

/** One `format` call for the whole line; `%w` doubles quotes. */
function lineOf(cell: string, valueOf: (name: string) => string): string {
  const [actor, ...others] = FREE.map(valueOf);
  return `format('%d,"%s","%w","%s","%s",${cell},"%w","%w",${
    others.map(() => cell).join(",")
  },"%w","%s","%s"\r\n', seq, at, project_id, type, kind, ${actor}, coalesce(session_id, ''),
    coalesce(action_id, ''), ${others.join(", ")}, data, prev_hash, hash)`;
}

/** SQL that is true for a text that begins with a letter, a digit, a dot or a slash. */
function isHarmless(name: string): string {
  return `(${name} IS NULL OR (${name} >= 'a' AND ${name} < '{')
    OR (${name} >= '.' AND ${name} < ':') OR (${name} >= 'A' AND ${name} < '['))`;
}

/** SQL for the `'` in front of a formula, or an empty text. */
function markOf(name: string): string {
  const first = `substr(ltrim(${name}, ${BLANKS}), 1, 1)`;
  return `CASE WHEN ${first} IN (${STARTS}) OR substr(${name}, 1, 1) IN (${BREAKS})
    THEN '''' ELSE '' END`;
}
