import { setTimeout as pause } from "node:timers/promises";
import { readCursor, toPage } from "../../db/cursor.ts";
import type { Ledger, Statement, Value } from "../../db/ledger.ts";
import type { ActionList, ActionQuery } from "../schema.ts";
import { type ActionRow, PUBLIC, toRow } from "../store.ts";
import { toMatch } from "./words.ts";

/** No statement looks at more rows than this: reads run on the thread that serves everybody. */
const STRIDE = 2_000;

/** Filters with an index of their own, the most telling first. */
const INDEXED = {
  path: "actions_by_path",
  session_id: "actions_by_session",
  status: "actions_by_status",
  decided_by: "actions_by_decider",
  tool: "actions_by_tool",
  agent: "actions_by_agent",
  execution: "actions_by_execution",
} as const;
type Indexed = keyof typeof INDEXED;
const NAMES = Object.keys(INDEXED) as Indexed[];

const COLUMNS = PUBLIC.map((name) => `actions.${name}`).join(", ");

/** At most `limit` actions below the cursor, newest first. */
export async function listActions(
  ledger: Ledger,
  query: ActionQuery,
  limit: number,
): Promise<ActionList> {
  const before = readCursor(query.cursor);
  const walk = query.q === undefined
    ? await byIndex(ledger, query)
    : byWords(ledger, query, toMatch(query.q));
  const found: ActionRow[] = [];
  for (let from = before; walk !== null && from > 0 && found.length <= limit;) {
    const low = await walk.low(from);
    const { sql, args } = walk.select(from, low, limit + 1 - found.length);
    const rows = await ledger.all(sql, args);
    found.push(...rows.map(toRow));
    from = low;
    if (from > 0) await pause(0);
  }
  return toPage(found, limit);
}

/** A way through the actions, newest first, stride by stride. */
interface Walk {
  /** Where the stride below `before` ends; 0 where it is the last. */
  low: (before: number) => Promise<number>;
  select: (before: number, low: number, limit: number) => Statement;
}

/** Along the index that leaves the fewest rows; what the other filters say is looked at in them. */
async function byIndex(ledger: Ledger, query: ActionQuery): Promise<Walk> {
  const driver = await narrowest(ledger, query);
  const index = driver === null ? "actions_by_seq" : INDEXED[driver];
  const own = driver === null ? null : conditionOf(query, driver);
  const others = othersOf(query, driver);
  const where = `FROM actions INDEXED BY ${index} WHERE project_id = ?${
    own?.sql ?? ""
  } AND seq < ?`;
  const args = [ledger.project_id, ...own?.args ?? []];
  const isPlain = others.sql === "";
  return {
    async low(before) {
      if (isPlain) return 0;
      const sql = `SELECT seq ${where} ORDER BY seq DESC LIMIT 1 OFFSET ${STRIDE - 1}`;
      const [row] = await ledger.all(sql, [...args, before]);
      return Number(row?.seq ?? 0);
    },
    select: (before, low, limit) => ({
      sql: `SELECT ${COLUMNS} ${where} AND seq >= ?${others.sql} ORDER BY seq DESC LIMIT ?`,
      args: [...args, before, low, ...others.args, limit],
    }),
  };
}

/** Along the index of words; without a word nothing is found. */
function byWords(ledger: Ledger, query: ActionQuery, match: string | null): Walk | null {
  if (match === null) return null;
  const others = othersOf(query, null);
  // One word is a list in the right order; several are compared, and the rest looked up row by row.
  const stride = others.sql !== "" ? STRIDE : match.includes('" "') ? 25 * STRIDE : Infinity;
  const nOf =
    "(SELECT number FROM actions WHERE project_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1)";
  return {
    low: (before) => lowBelow(ledger, before, stride),
    select: (before, low, limit) => ({
      sql:
        `SELECT ${COLUMNS} FROM actions_words JOIN actions ON actions.number = actions_words.rowid
        WHERE actions_words MATCH ? AND actions_words.rowid <= ${nOf}
          AND actions_words.rowid > coalesce(${nOf}, 0) AND actions.project_id = ?${others.sql}
        ORDER BY actions_words.rowid DESC LIMIT ?`,
      args: [
        ...[match, ledger.project_id, before - 1, ledger.project_id, low - 1],
        ...[ledger.project_id, ...others.args, limit],
      ],
    }),
  };
}

async function lowBelow(ledger: Ledger, before: number, stride: number): Promise<number> {
  if (stride === Infinity) return 0;
  const sql = "SELECT max(seq) AS seq FROM actions WHERE project_id = ?";
  const [newest] = await ledger.all(sql, [ledger.project_id]);
  return Math.max(0, Math.min(before, Number(newest?.seq ?? 0) + 1) - stride);
}

/** Counted no further than a stride: which of two is longer than that hardly matters. */
async function narrowest(ledger: Ledger, query: ActionQuery): Promise<Indexed | null> {
  const given = NAMES.filter((name) => query[name] !== undefined);
  if (given.length < 2) return given[0] ?? null;
  const counts = await Promise.all(given.map(async (name) => {
    const { sql, args } = conditionOf(query, name);
    const [row] = await ledger.all(
      `SELECT count(*) AS n FROM (SELECT 1 FROM actions INDEXED BY ${INDEXED[name]}
        WHERE project_id = ?${sql} LIMIT ${STRIDE})`,
      [ledger.project_id, ...args],
    );
    return Number(row?.n ?? 0);
  }));
  return given[counts.indexOf(Math.min(...counts))] ?? null;
}

function othersOf(query: ActionQuery, driver: Indexed | null): Statement {
  const parts = NAMES.filter((name) => name !== driver && query[name] !== undefined)
    .map((name) => conditionOf(query, name));
  if (query.risk !== undefined) {
    parts.push({ sql: " AND json_extract(actions.risk, '$.level') = ?", args: [query.risk] });
  }
  return {
    sql: parts.map(({ sql }) => sql).join(""),
    args: parts.flatMap(({ args }): Value[] => args),
  };
}

/** The table is named: the index of words has columns of the same names. */
function conditionOf(query: ActionQuery, name: Indexed): Statement {
  return { sql: ` AND actions.${name} = ?`, args: [query[name] ?? null] };
}
