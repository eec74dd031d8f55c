import type { Ledger, Statement, Value } from "../../../db/ledger.ts";
import type { ActionQuery } from "../schema.ts";
import type { Match } from "../words.ts";

const RISK = "json_extract(actions.risk, '$.level')";

/** Filters with an index of their own. The table is named: the index of words has such columns too. */
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

/** A way along one index, newest first: over the actions that it leads to and no others. */
export interface Road {
  /** What this road does not say by itself; has to be looked at in each row. */
  others: Statement;
  /** `columns` of the rows in the span; `end` holds more conditions and the limit. */
  select: (columns: string, span: Span, end: (order: string) => Statement) => Statement;
}

/** Every road that a filter opens. */
export function roadsOf(ledger: Ledger, query: ActionQuery): Road[] {
  return NAMES.filter((name) => query[name] !== undefined)
    .map((name) => indexRoad(ledger, query, name));
}

/** Along all actions, or those of one filter. */
export function indexRoad(ledger: Ledger, query: ActionQuery, driver: Indexed | null): Road {
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

/** Along the index of words; its rows have the order of the actions. */
export function wordRoad(ledger: Ledger, query: ActionQuery, { text }: Match): Road {
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

/** Where the next `stride` rows of a road end; at the beginning of the span when there are fewer. */
export async function lowOf(
  ledger: Ledger,
  road: Road,
  span: Span,
  stride: number,
): Promise<number> {
  const { sql, args } = road.select("actions.seq AS seq", span, (order) => ({
    sql: ` ORDER BY ${order} DESC LIMIT 1 OFFSET ?`,
    args: [stride - 1],
  }));
  const [row] = await ledger.all(sql, args);
  return Number(row?.seq ?? span.low);
}

/** What of the rows of a road is read. */
interface Wanted {
  columns: string;
  limit: number;
}

/** The rows of the span that every other filter lets through too. */
export function selectAll({ select, others }: Road, span: Span, wanted: Wanted): Statement {
  return select(wanted.columns, span, (order) => ({
    sql: `${others.sql} ORDER BY ${order} DESC LIMIT ?`,
    args: [...others.args, wanted.limit],
  }));
}

/** Those among the next few `rows` of the road. */
export function selectFew(
  { select, others }: Road,
  span: Span,
  { columns, limit, rows, words }: Wanted & { rows: number; words: Match | null },
): Statement {
  const held = words === null ? NONE : {
    sql: ` AND EXISTS (SELECT 1 FROM actions_words
      WHERE actions_words MATCH ? AND actions_words.rowid = actions.number)`,
    args: [words.text],
  };
  const way = select("actions.number AS number", span, (order) => ({
    sql: ` ORDER BY ${order} DESC LIMIT ?`,
    args: [rows],
  }));
  return {
    // In the order of the few: with an order of its own it would sort what is in order already.
    sql: `SELECT ${columns} FROM (${way.sql}) AS way
      CROSS JOIN actions ON actions.number = way.number
      WHERE true${others.sql}${held.sql} LIMIT ?`,
    args: [...way.args, ...others.args, ...held.args, limit],
  };
}

const NONE: Statement = { sql: "", args: [] };

/** What the filters say, but for the one that the index has said already. */
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
