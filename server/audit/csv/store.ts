/** What JavaScript takes for a blank, which is more than SQLite does. */
const BLANKS = "char(9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, " +
  "8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288, 65279)";

/** What begins a formula; `char` spells out the full-width forms. */
const STARTS = "'=', '+', '-', '@', char(65309), char(65291), char(65293), char(65312)";
const BREAKS = "char(9), char(10), char(13), ''''";

/** What a line is made of, of one row: each value is worked out once. */
export const CSV_VALUES = `seq, at, project_id, type, actor ->> '$.kind' AS kind,
  actor ->> '$.id' AS actor, session_id, action_id, data ->> '$.tool' AS tool,
  data ->> '$.path' AS path, data ->> '$.command' AS command, data ->> '$.status' AS status,
  data ->> '$.reason' AS reason, data, prev_hash, hash,
  instr(actor, '\\u0000') + instr(data, '\\u0000') AS odd`;

/** What somebody else than the gate may have written. */
const FREE = ["actor", "tool", "path", "command", "status", "reason"];

/** A line of CSV, as `toCsvLine` writes it. Most rows hold nothing that needs a mark. */
export const CSV_LINE = `CASE WHEN ${FREE.map(isHarmless).join(" AND ")}
  THEN ${lineOf('"%w"', (name) => `coalesce(${name}, '')`)}
  ELSE ${lineOf('"%s%w"', (name) => `${markOf(name)}, coalesce(${name}, '')`)} END`;

/** One call for all of it; `%w` doubles quotes. */
function lineOf(cell: string, valueOf: (name: string) => string): string {
  const [actor, ...others] = FREE.map(valueOf);
  return `format('%d,"%s","%w","%s","%s",${cell},"%w","%w",${
    others.map(() => cell).join(",")
  },"%w","%s","%s"\r\n', seq, at, project_id, type, kind, ${actor}, coalesce(session_id, ''),
    coalesce(action_id, ''), ${others.join(", ")}, data, prev_hash, hash)`;
}

/** Begins with a letter, a digit, a dot or a slash. */
function isHarmless(name: string): string {
  return `(${name} IS NULL OR (${name} >= 'a' AND ${name} < '{')
    OR (${name} >= '.' AND ${name} < ':') OR (${name} >= 'A' AND ${name} < '['))`;
}

/** The `'` that a formula is given. */
function markOf(name: string): string {
  const first = `substr(ltrim(${name}, ${BLANKS}), 1, 1)`;
  return `CASE WHEN ${first} IN (${STARTS}) OR substr(${name}, 1, 1) IN (${BREAKS})
    THEN '''' ELSE '' END`;
}
