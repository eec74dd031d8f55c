import type { Ledger, Statement, Value } from "../../db/ledger.ts";
import type { ActionQuery } from "./schema.ts";

const RISK = "json_extract(actions.risk, '$.level')";

/** Filters with an index. The columns name their table, because the word index has some of them too. */
const INDEXED = {
  path: { index: "actions_by_path", column: "actions.path" },
  session_id: { index: "actions_by_session", column: "actions.session_id" },
  status: { index: "actions_by_status", column: "actions.status" },
  risk: { index: "actions_by_risk", column: RISK },
  decided_by: { index: "actions_by_decider", column: "actions.decided_by" },
  tool: { index: "actions_by_tool", column: "actions.tool" },
  agent: { index: "actions_by_agent", column: "actions.agent" },
  execution: { index: "actions_by_execution", column: "actions.execution" },
} as const;
type Indexed = keyof typeof INDEXED;
const NAMES = Object.keys(INDEXED) as Indexed[];

/** The numbers of actions from `low` up to below `before`. */
export interface Span {
  low: number;
  before: number;
}

/** An index scan, newest first. */
export interface Scan {
  /** The conditions that the index does not cover; they are tested in each row. */
  others: Statement;
  /** Selects `columns` of the rows in the span; `end` adds conditions, order and limit. */
  select: (columns: string, span: Span, end: (order: string) => Statement) => Statement;
}

/** One scan for each filter of the query. */
export function scansOf(ledger: Ledger, query: ActionQuery): Scan[] {
  return NAMES.filter((name) => query[name] !== undefined)
    .map((name) => indexScan(ledger, query, name));
}

/** Scans all actions, or those of one filter. */
export function indexScan(ledger: Ledger, query: ActionQuery, driver: Indexed | null): Scan {
  const index = driver === null ? "actions_by_seq" : INDEXED[driver].index;
  const own = driver === null ? NONE : conditionOf(query, driver);
  return {
    others: othersOf(query, driver),
    select: (columns, { low, before }, end) => ({
      sql: `SELECT ${columns} FROM actions INDEXED BY ${index}
        WHERE project_id = ?${own.sql} AND seq < ? AND seq >= ?${end("seq").sql}`,
      args: [ledger.project_id, ...own.args, before, low, ...end("seq").args],
    }),
  };
}

const NUMBER =
  "(SELECT number FROM actions WHERE project_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1)";

/** Scans the word index; its rows have the order of the actions. */
export function wordScan(ledger: Ledger, query: ActionQuery, { text }: Match): Scan {
  const { project_id } = ledger;
  return {
    others: othersOf(query, null),
    select: (columns, { low, before }, end) => ({
      sql: `SELECT ${columns}
        FROM actions_words JOIN actions ON actions.number = actions_words.rowid
        WHERE actions_words MATCH ? AND actions_words.rowid <= ${NUMBER}
          AND actions_words.rowid > coalesce(${NUMBER}, 0) AND actions.project_id = ?
          ${end("actions_words.rowid").sql}`,
      args: [
        ...[text, project_id, before - 1, project_id, low - 1, project_id],
        ...end("actions_words.rowid").args,
      ],
    }),
  };
}

/** The number at which the next `stride` rows end; the start of the span if there are fewer. */
export async function lowOf(
  ledger: Ledger,
  scan: Scan,
  span: Span,
  stride: number,
): Promise<number> {
  const { sql, args } = scan.select("actions.seq AS seq", span, (order) => ({
    sql: ` ORDER BY ${order} DESC LIMIT 1 OFFSET ?`,
    args: [stride - 1],
  }));
  const [row] = await ledger.all(sql, args);
  return Number(row?.seq ?? span.low);
}

/** The columns and the number of rows to read. */
interface Selection {
  columns: string;
  limit: number;
}

/** The rows of the span that pass all filters. */
export function selectAll({ select, others }: Scan, span: Span, wanted: Selection): Statement {
  return select(wanted.columns, span, (order) => ({
    sql: `${others.sql} ORDER BY ${order} DESC LIMIT ?`,
    args: [...others.args, wanted.limit],
  }));
}

/** The actions among the next `rows` of the scan that pass all filters. */
export function selectFew(
  { select, others }: Scan,
  span: Span,
  { columns, limit, rows, words }: Selection & { rows: number; words: Match | null },
): Statement {
  const held = words === null ? NONE : {
    sql: ` AND EXISTS (SELECT 1 FROM actions_words
      WHERE actions_words MATCH ? AND actions_words.rowid = actions.number)`,
    args: [words.text],
  };
  const few = select("actions.number AS number", span, (order) => ({
    sql: ` ORDER BY ${order} DESC LIMIT ?`,
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
  return {
    sql: parts.map(({ sql }) => sql).join(""),
    args: parts.flatMap(({ args }): Value[] => args),
  };
}

function conditionOf(query: ActionQuery, name: Indexed): Statement {
  return { sql: ` AND ${INDEXED[name].column} = ?`, args: [query[name] ?? null] };
}

/** Further words are ignored. */
const MAX_WORDS = 16;

/** A query for FTS5. */
export interface Match {
  text: string;
  /** Whether it is a single word of the index. */
  isOne: boolean;
}

/** The typed words as a query for FTS5, all required and none an operator; null without a word. */
export function toMatch(typed: string): Match | null {
  const words = typed.replaceAll("\0", " ").toWellFormed().split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).slice(0, MAX_WORDS);
  if (words.length === 0) return null;
  return {
    text: words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" "),
    isOne: words.length === 1 && /^[\p{L}\p{N}]+$/u.test(words[0]!),
  };
}
