import type { Ledger, Statement, Value } from "../../db/ledger.ts";
import { RARE } from "../../db/ledger_migrations.ts";
import type { ActionQuery } from "./schema.ts";

const RISK = "json_extract(actions.risk, '$.level')";

/** A filter with an index. The columns name their table, because the word index has some of them too. */
interface Filter {
  /** The index of `actions`; null if `action_index` lists the values. */
  index: string | null;
  column: string;
  /** The condition of an index without the most frequent values, and these values. */
  rare?: { condition: string; but: readonly string[] };
}

const INDEXED = {
  path: { index: null, column: "actions.path" },
  session_id: { index: null, column: "actions.session_id" },
  status: {
    index: "actions_by_status",
    column: "actions.status",
    rare: { condition: RARE.status, but: ["approved"] },
  },
  risk: { index: "actions_by_risk", column: RISK, rare: { condition: RARE.risk, but: ["low"] } },
  decided_by: {
    index: "actions_by_decider",
    column: "actions.decided_by",
    rare: { condition: RARE.decided_by, but: ["policy"] },
  },
  tool: { index: null, column: "actions.tool" },
  agent: { index: null, column: "actions.agent" },
  execution: {
    index: "actions_by_execution",
    column: "actions.execution",
    rare: { condition: RARE.execution, but: ["running", "succeeded"] },
  },
} as const satisfies Record<string, Filter>;
type Indexed = keyof typeof INDEXED;
const NAMES = Object.keys(INDEXED) as Indexed[];

/** The numbers of actions from `low` up to below `before`. */
export interface Span {
  low: number;
  before: number;
}

/** An index scan, newest or oldest first. */
export interface Scan {
  order: "DESC" | "ASC";
  /** The conditions that the index does not cover; they are tested in each row. */
  others: Statement;
  /** Selects `columns` of the rows in the span; `end` adds conditions, order and limit. */
  select: (columns: string, span: Span, end: End) => Statement;
  /** Whether it reads all actions, whose numbers have gaps only where another program wrote one. */
  isWhole?: boolean;
  /** Selects the `seq` or the `number` of the same rows, from the index alone where it has both. */
  keys: (key: "seq" | "number", span: Span, end: End) => Statement;
}

type End = (key: string) => Statement;

/** One scan for each filter of the query whose value is in an index. */
export function scansOf(ledger: Ledger, query: ActionQuery): Scan[] {
  const isIndexed = (name: Indexed) => {
    const { rare }: Filter = INDEXED[name];
    return query[name] !== undefined && !rare?.but.includes(query[name]);
  };
  return NAMES.filter(isIndexed)
    .map((name) => indexScan(ledger, query, name));
}

/** Scans all actions, or those of one filter. */
export function indexScan(ledger: Ledger, query: ActionQuery, driver: Indexed | null): Scan {
  const others = othersOf(query, driver);
  const order = orderOf(query);
  if (driver === null) return { others, order, isWhole: true, ...wholeScan(ledger) };
  const { index, rare }: Filter = INDEXED[driver];
  if (index === null) return { others, order, ...valueScan(ledger, driver, String(query[driver])) };
  const own = conditionOf(query, driver);
  // SQLite uses an index with a condition only for a query with the same one.
  const condition = rare === undefined ? "" : ` AND ${rare.condition}`;
  const select: Scan["select"] = (columns, { low, before }, end) => ({
    sql: `SELECT ${columns} FROM actions INDEXED BY ${index}
        WHERE project_id = ?${own.sql}${condition} AND seq < ? AND seq >= ?${end("seq").sql}`,
    args: [ledger.project_id, ...own.args, before, low, ...end("seq").args],
  });
  return { others, order, select, keys: (key, span, end) => select(`actions.${key}`, span, end) };
}

export function orderOf({ order }: ActionQuery): Scan["order"] {
  return order === "oldest" ? "ASC" : "DESC";
}

/** Scans the actions themselves, which lie in the order of their numbers. */
function wholeScan(ledger: Ledger): Pick<Scan, "select" | "keys"> {
  const select: Scan["select"] = (columns, { low, before }, end) => ({
    // SQLite would prefer an index that begins with the project, and sort its rows.
    sql: `SELECT ${columns} FROM actions NOT INDEXED
      WHERE project_id = ? AND number < ? AND number >= ?${end("number").sql}`,
    args: [ledger.project_id, before, low, ...end("number").args],
  });
  return { select, keys: (key, span, end) => select(`actions.${key}`, span, end) };
}

/** Scans `action_index`, which holds the numbers of the actions with a value, in order. */
function valueScan(ledger: Ledger, name: Indexed, value: string): Pick<Scan, "select" | "keys"> {
  const scan = (columns: string, from: string, { low, before }: Span, end: End): Statement => ({
    sql: `SELECT ${columns} FROM ${from}
      WHERE listed.project_id = ? AND listed.name = ? AND listed.value = ?
        AND listed.seq < ? AND listed.seq >= ?${end("listed.seq").sql}`,
    args: [ledger.project_id, name, value, before, low, ...end("listed.seq").args],
  });
  const joined = "action_index AS listed CROSS JOIN actions ON actions.number = listed.number";
  return {
    select: (columns, span, end) => scan(columns, joined, span, end),
    keys: (key, span, end) => scan(`listed.${key}`, "action_index AS listed", span, end),
  };
}

/** A number from JavaScript is a REAL, which FTS5 takes for no limit. */
const PLACE = "CAST(? AS INTEGER)";

/**
 * Scans the actions that have each of the words, with one lookup for each word. It reads every row
 * of the span that has one of the words, and none outside of it.
 */
export function apartScan(ledger: Ledger, query: ActionQuery, { words }: Match): Scan {
  const { project_id } = ledger;
  // FTS5 begins at one end of a word's rows, and the parts apart are at the end where a search begins.
  // The limit keeps the order, which SQLite would drop as useless.
  const one = `SELECT number FROM (SELECT rowid AS number FROM actions_words
    WHERE actions_words MATCH ? AND rowid < ${PLACE} AND rowid >= ${PLACE}
    ORDER BY rowid ${orderOf(query)} LIMIT -1)`;
  const select: Scan["select"] = (columns, { low, before }, end) => ({
    sql: `SELECT ${columns} FROM (${words.map(() => one).join(" INTERSECT ")}) AS found
        CROSS JOIN actions ON actions.number = found.number
        WHERE actions.project_id = ?${end("found.number").sql}`,
    args: [
      ...words.flatMap((word) => [word, before, low]),
      ...[project_id, ...end("found.number").args],
    ],
  });
  return {
    others: othersOf(query, null),
    order: orderOf(query),
    select,
    keys: (key, span, end) => select(`actions.${key}`, span, end),
  };
}

/** Whether the index has each of the words at all: much cheaper than a search for all of them. */
export async function hasEach(ledger: Ledger, { words }: Match): Promise<boolean> {
  const each = "EXISTS (SELECT 1 FROM actions_words WHERE actions_words MATCH ?)";
  const [row] = await ledger.all(
    `SELECT ${words.map(() => each).join(" AND ")} AS has_each`,
    [...words],
  );
  return Number(row!.has_each) === 1;
}

/** Scans the word index; its rows have the order of the actions. */
export function wordScan(ledger: Ledger, query: ActionQuery, { text }: Match): Scan {
  const { project_id } = ledger;
  const select: Scan["select"] = (columns, { low, before }, end) => ({
    sql: `SELECT ${columns}
        FROM actions_words JOIN actions ON actions.number = actions_words.rowid
        WHERE actions_words MATCH ? AND actions_words.rowid < ${PLACE}
          AND actions_words.rowid >= ${PLACE} AND actions.project_id = ?
          ${end("actions_words.rowid").sql}`,
    args: [...[text, before, low, project_id], ...end("actions_words.rowid").args],
  });
  return {
    others: othersOf(query, null),
    order: orderOf(query),
    select,
    keys: (key, span, end) => select(`actions.${key}`, span, end),
  };
}

/** The span without its next `stride` rows; an empty one if there are fewer. */
export async function restOf(
  ledger: Ledger,
  scan: Scan,
  span: Span,
  stride: number,
): Promise<Span> {
  const { sql, args } = scan.keys("seq", span, (key) => ({
    sql: ` ORDER BY ${key} ${scan.order} LIMIT 1 OFFSET ?`,
    args: [stride - 1],
  }));
  const [row] = await ledger.all(sql, args);
  if (row === undefined) return { ...span, before: span.low };
  return scan.order === "ASC"
    ? { ...span, low: Number(row.seq) + 1 }
    : { ...span, before: Number(row.seq) };
}

/** The span without the numbers that no action has before its next one. */
export async function skipGap(ledger: Ledger, scan: Scan, span: Span): Promise<Span> {
  const { sql, args } = scan.keys("number", span, (key) => ({
    sql: ` ORDER BY ${key} ${scan.order} LIMIT 1`,
    args: [],
  }));
  const [row] = await ledger.all(sql, args);
  if (row === undefined) return { ...span, before: span.low };
  return scan.order === "ASC"
    ? { ...span, low: Number(row.number) }
    : { ...span, before: Number(row.number) + 1 };
}

/** The columns and the number of rows to read. */
interface Selection {
  columns: string;
  limit: number;
}

/** The rows of the span that pass all filters. */
export function selectAll(
  { select, others, order }: Scan,
  span: Span,
  wanted: Selection,
): Statement {
  return select(wanted.columns, span, (key) => ({
    sql: `${others.sql} ORDER BY ${key} ${order} LIMIT ?`,
    args: [...others.args, wanted.limit],
  }));
}

/** The actions among the next `rows` of the scan that pass all filters. */
export function selectFew(
  { keys, others, order }: Scan,
  span: Span,
  { columns, limit, rows, words }: Selection & { rows: number; words: Match | null },
): Statement {
  const held = words === null ? NONE : {
    sql: ` AND EXISTS (SELECT 1 FROM actions_words
      WHERE actions_words MATCH ? AND actions_words.rowid = actions.number)`,
    args: [words.text],
  };
  const few = keys("number", span, (key) => ({
    sql: ` ORDER BY ${key} ${order} LIMIT ?`,
    args: [rows],
  }));
  return {
    // The rows keep the order of the subquery. An ORDER BY here would sort them again.
    sql: `SELECT ${columns} FROM (${few.sql}) AS few
      CROSS JOIN actions ON actions.number = few.number
      WHERE true${others.sql}${held.sql} LIMIT ?`,
    args: [...few.args, ...others.args, ...held.args, limit],
  };
}

const NONE: Statement = { sql: "", args: [] };

/** The conditions of all filters but the one that drives the scan. */
function othersOf(query: ActionQuery, driver: Indexed | null): Statement {
  const parts = NAMES.filter((name) => name !== driver && query[name] !== undefined)
    .map((name) => conditionOf(query, name));
  if (query.from !== undefined) {
    parts.push({ sql: " AND actions.created_at >= ?", args: [query.from] });
  }
  if (query.to !== undefined) parts.push({ sql: " AND actions.created_at < ?", args: [query.to] });
  parts.push(...decisionsOf(query), ...hoursOf(query));
  return {
    sql: parts.map(({ sql }) => sql).join(""),
    args: parts.flatMap(({ args }): Value[] => args),
  };
}

const RULE = (name: string) => `json_extract(actions.decision, '$.rule.${name}')`;
const BY_POLICY = "actions.decided_by = 'policy'";
const IS_APPROVED = "actions.status IN ('approved', 'rolled_back')";
// A person's own rollback is decided as it is submitted; nobody was asked.
const WAS_HELD =
  "NOT (actions.tool = 'rollback' AND actions.decided_at = actions.created_at) AND NOT " +
  BY_POLICY;
const WAITED =
  `CAST(round((julianday(actions.decided_at) - julianday(actions.created_at)) * 86400000)
  AS INTEGER)`;

/** The conditions about the decision: what it was, when, after which wait, and by which rule. */
function decisionsOf(query: ActionQuery): Statement[] {
  const { outcome, decided_from, decided_to, waited_from, waited_to, rule } = query;
  const parts: Statement[] = [];
  const add = (sql: string, ...args: Value[]) => parts.push({ sql: ` AND ${sql}`, args });
  if (outcome === "allowed") add(`${IS_APPROVED} AND ${BY_POLICY}`);
  else if (outcome === "approved") add(`${IS_APPROVED} AND ${WAS_HELD}`);
  else if (outcome !== undefined) add("actions.status = ?", outcome);
  if (decided_from !== undefined) add("actions.decided_at >= ?", decided_from);
  if (decided_to !== undefined) add("actions.decided_at < ?", decided_to);
  if (waited_from !== undefined || waited_to !== undefined) {
    add(`actions.status IN ('approved', 'rejected', 'rolled_back') AND ${WAS_HELD}`);
  }
  if (waited_from !== undefined) add(`${WAITED} >= ?`, waited_from);
  if (waited_to !== undefined) add(`${WAITED} < ?`, waited_to);
  if (rule === "default") add(`${RULE("pattern")} IS NULL`);
  else if (rule !== undefined) {
    const [, source, list, pattern] = /^([^/]*)\/([^/]*)\/([^]*)$/.exec(rule)!;
    add(
      `${RULE("source")} = ? AND ${RULE("list")} = ? AND ${RULE("pattern")} = ?`,
      ...[source!, list!, pattern!],
    );
  }
  return parts;
}

function hoursOf({ weekday, hour }: ActionQuery): Statement[] {
  return [
    ...weekday === undefined
      ? []
      : [{ sql: " AND strftime('%w', actions.created_at) = ?", args: [String(weekday)] }],
    ...hour === undefined ? [] : [{
      sql: " AND substr(actions.created_at, 12, 2) = ?",
      args: [String(hour).padStart(2, "0")],
    }],
  ];
}

function conditionOf(query: ActionQuery, name: Indexed): Statement {
  return { sql: ` AND ${INDEXED[name].column} = ?`, args: [query[name] ?? null] };
}

/** Further words are ignored. */
const MAX_WORDS = 16;

/** A query for FTS5. */
export interface Match {
  text: string;
  /** Its parts, each a query of its own. */
  words: readonly string[];
  /** Whether it is a single word of the index. */
  isOne: boolean;
}

/** The typed words as a query for FTS5, all required and none an operator; null without a word. */
export function toMatch(typed: string): Match | null {
  const words = typed.replaceAll("\0", " ").toWellFormed().split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).slice(0, MAX_WORDS);
  if (words.length === 0) return null;
  const quoted = words.map((word) => `"${word.replaceAll('"', '""')}"`);
  return {
    text: quoted.join(" "),
    words: quoted,
    isOne: words.length === 1 && /^[\p{L}\p{N}]+$/u.test(words[0]!),
  };
}
