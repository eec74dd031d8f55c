import type { Statement } from "./ledger.ts";
import { COUNTED, doneBy, PROJECT_WORDS } from "./ledger_migrations.ts";

/** A part of the schema that is derived from a table and filled behind the answers. */
interface Projection {
  /** Its row in `projected`. */
  name: string;
  /** The table that it follows, and the rising number of its rows. */
  of: "actions" | "audit";
  key: "number" | "seq";
  /** SQL that adds the next `?` rows, oldest first. */
  add: string;
  /** Rows of one commit. A commit blocks the event loop, so each is short. */
  most: number;
  /** The tables and columns that it fills. */
  fills: readonly string[];
}

const next = ({ of, key, name }: Pick<Projection, "of" | "key" | "name">) =>
  `FROM ${of} WHERE ${key} > ${doneBy(name)} ORDER BY ${key} LIMIT ?`;

const ACTIONS = { of: "actions", key: "number" } as const;
const COUNTS = { name: "counts", ...ACTIONS };
const FILTERS = { name: "action_index", ...ACTIONS };
const EVENTS = { name: "audit_index", of: "audit", key: "seq" } as const;

/** The columns by which actions, and events, are found in an index table. */
const FILTERED = ["agent", "tool", "path", "session_id"];
const LISTED = ["at", "session_id"];

/** The actions of a session, with their number as `place`. Takes the project and the session. */
export const OF_SESSION = `(SELECT seq AS place FROM action_index
    WHERE project_id = ? AND name = 'session_id' AND value = ?)
  CROSS JOIN actions ON actions.number = place`;

const PROJECTIONS: readonly Projection[] = [
  { name: "words", ...ACTIONS, add: PROJECT_WORDS, most: 100, fills: ["actions_words"] },
  {
    ...COUNTS,
    add: `INSERT INTO ${COUNTED} SELECT * ${next(COUNTS)}`,
    most: 100,
    fills: [
      ...["daily_counts", "daily_latencies", "rule_hits", "action_hours"],
      // Columns of sessions.
      ...["action_count", "pending_count", "done_count", "rolled_back_count", "last_seen_at"],
    ],
  },
  {
    ...FILTERS,
    add: `INSERT INTO action_index (project_id, name, value, seq, number)
      SELECT project_id, key, json_each.value, seq, number
      FROM (SELECT project_id, seq, number, ${columnsOf(FILTERED)} AS texts ${next(FILTERS)}),
        json_each(texts)
      WHERE json_each.value IS NOT NULL ON CONFLICT DO NOTHING`,
    most: 500,
    fills: ["action_index"],
  },
  {
    ...EVENTS,
    add: `INSERT INTO audit_index (project_id, name, value, seq)
      SELECT project_id, key, json_each.value, seq
      FROM (SELECT project_id, seq, ${columnsOf(LISTED)} AS texts ${next(EVENTS)}), json_each(texts)
      WHERE json_each.value IS NOT NULL ON CONFLICT DO NOTHING`,
    most: 500,
    fills: ["audit_index"],
  },
];

/** What a copy of a ledger leaves out, and the SQL after which the projector fills it again. */
export const REBUILT = {
  tables: new Set(["actions_words", "action_index", "audit_index", "word_blocks", "word_groups"]),
  again: [
    `UPDATE projected SET number = 0
      WHERE name IN ('words', 'action_index', 'audit_index', 'word_blocks')`,
  ],
};

function columnsOf(names: readonly string[]): string {
  return `json_object(${names.map((name) => `'${name}', ${name}`).join(", ")})`;
}

/** The names of all projections. */
export const ALL_PROJECTIONS: readonly string[] = PROJECTIONS.map(({ name }) => name);

/**
 * One step of each of these projections, as two statements each. The second returns whether rows are
 * left (`is_behind`), and no row if there was nothing to do.
 */
export function projectSome(names: readonly string[] = ALL_PROJECTIONS): Statement[] {
  return PROJECTIONS.filter(({ name }) => names.includes(name)).flatMap((projection) => {
    const { name, of, key, add, most } = projection;
    const rows = next(projection);
    return [{ sql: add, args: [most] }, {
      // A row that stays the same would cost a page.
      sql: `UPDATE projected SET number = (SELECT max(${key}) FROM (SELECT ${key} ${rows}))
        WHERE name = '${name}' AND number < (SELECT max(${key}) FROM ${of})
        RETURNING number < (SELECT max(${key}) FROM ${of}) AS is_behind`,
      args: [most],
    }];
  });
}

const FILLED = PROJECTIONS.map(({ name, fills }) => ({ name, pattern: wordsIn(fills) }));
const DERIVED = wordsIn(PROJECTIONS.flatMap(({ fills }) => fills));

/** The projections that fill what a query reads, so that they must catch up first. */
export function projectionsOf(sql: string): readonly string[] {
  if (!DERIVED.test(sql)) return [];
  return FILLED.filter(({ pattern }) => pattern.test(sql)).map(({ name }) => name);
}

function wordsIn(names: readonly string[]): RegExp {
  return new RegExp(`\\b(?:${names.join("|")})\\b`);
}
