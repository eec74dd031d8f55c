import type { Ledger, Row } from "../db/ledger.ts";
import { countsAsDone, doneBy } from "../db/ledger_migrations.ts";
import { textOf } from "../db/texts.ts";
import type { BlockWord } from "../db/word_blocks.ts";
import { NOTED } from "../db/word_groups.ts";

// A check reads beside agents and other machines, so each statement compares only the rows that the
// projection has followed in that state of the ledger.

/** An index table with the columns that it lists. */
export interface Listing {
  index: "action_index" | "audit_index";
  of: "actions" | "audit";
  /** `of` without its indexes where SQLite would prefer one of them to the order of the rows. */
  rows: string;
  /** The column that rises in the order in which the index follows the rows. */
  key: "number" | "seq";
  names: readonly string[];
}

export const LISTINGS: readonly Listing[] = [
  {
    ...{ index: "action_index", of: "actions", rows: "actions NOT INDEXED", key: "number" },
    names: ["agent", "tool", "path", "session_id"],
  },
  { index: "audit_index", of: "audit", rows: "audit", key: "seq", names: ["at", "session_id"] },
];

/** The counts of one session, or of one hour, as the projections have them or as rows give them. */
export type Counts = Record<string, number>;

/** What one action adds to the counts. */
interface CountedAction {
  number: number;
  seq: number;
  session_id: string;
  /** `YYYY-MM-DDTHH`. */
  hour: string;
  session: Counts;
  has_words: boolean;
}

/** Each count of a session, as SQL over its actions. */
const SESSION_COUNTS = {
  action_count: "1",
  pending_count: "status = 'pending'",
  done_count: countsAsDone("actions"),
  rolled_back_count: "status = 'rolled_back' AND tool <> 'rollback'",
};
const SESSION_NAMES = Object.keys(SESSION_COUNTS);

// Texts are read as bytes: libSQL ends the process for a text that is not UTF-8.
const ACTIONS = `SELECT number, seq, CAST(session_id AS BLOB) AS session_id,
    CAST(substr(created_at, 1, 13) AS BLOB) AS hour,
    ${Object.entries(SESSION_COUNTS).map(([name, sql]) => `(${sql}) AS ${name}`).join(", ")},
    EXISTS (SELECT 1 FROM actions_words_docsize WHERE id = actions.number) AS has_words
  FROM actions`;

/** At most `limit` actions after `number` whose words are projected. */
export async function listCounted(
  ledger: Ledger,
  number: number,
  limit: number,
): Promise<CountedAction[]> {
  const rows = await ledger.all(
    `${ACTIONS} WHERE number > ? AND number <= ${doneBy("words")} AND project_id = ?
      ORDER BY number LIMIT ?`,
    [number, ledger.project_id, limit],
  );
  return rows.map((row) => ({
    number: Number(row.number),
    seq: Number(row.seq),
    session_id: textOf(row.session_id),
    hour: textOf(row.hour),
    session: countsOf(row, SESSION_NAMES),
    has_words: row.has_words === 1,
  }));
}

/** At most `limit` sessions after `seq`, with their counts. */
export async function listSessionCounts(
  ledger: Ledger,
  seq: number,
  limit: number,
): Promise<{ seq: number; id: string; counts: Counts }[]> {
  const rows = await ledger.all(
    `SELECT seq, CAST(id AS BLOB) AS id, ${SESSION_NAMES.join(", ")} FROM sessions
      WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
    [ledger.project_id, seq, limit],
  );
  return rows.map((row) => ({
    seq: Number(row.seq),
    id: textOf(row.id),
    counts: countsOf(row, SESSION_NAMES),
  }));
}

/** The counts of a session, and those of its actions, in one state of the ledger. */
export async function recountSession(
  ledger: Ledger,
  id: string,
): Promise<{ counts: Counts; recount: Counts }> {
  const sums = Object.entries(SESSION_COUNTS)
    .map(([name, sql]) => `coalesce(sum(${sql}), 0) AS found_${name}`);
  const [row] = await ledger.all(
    `SELECT ${SESSION_NAMES.map((name) => `sessions.${name}`).join(", ")}, found.* FROM sessions,
      (SELECT ${sums.join(", ")} FROM (
          SELECT number AS place FROM action_index
            WHERE project_id = ?1 AND name = 'session_id' AND value = ?2
          UNION SELECT number FROM actions NOT INDEXED
            WHERE session_id = ?2 AND number > ${doneBy("action_index")})
        CROSS JOIN actions ON number = place WHERE place <= ${doneBy("counts")}) AS found
      WHERE sessions.project_id = ?1 AND sessions.id = ?2`,
    [ledger.project_id, id],
  );
  return { counts: countsOf(row!, SESSION_NAMES), recount: foundOf(row!, SESSION_NAMES) };
}

const HOUR_NAMES = ["n", "first_seq", "last_seq"];
const COUNTED_HOUR = `SELECT CAST(hour AS BLOB) AS hour, first_seq, last_seq,
    coalesce((SELECT n FROM daily_counts WHERE project_id = action_hours.project_id
      AND kind = 'hour' AND day = substr(hour, 1, 10) AND key = substr(hour, 12, 2)), 0) AS n
  FROM action_hours`;

/** Every hour with actions, with its counts. */
export async function listHourCounts(
  ledger: Ledger,
): Promise<{ hour: string; counts: Counts }[]> {
  const rows = await ledger.all(`${COUNTED_HOUR} WHERE project_id = ?`, [ledger.project_id]);
  return rows.map((row) => ({ hour: textOf(row.hour), counts: countsOf(row, HOUR_NAMES) }));
}

/** The counts of an hour, and those of its actions, in one state of the ledger; null if there are none. */
export async function recountHour(
  ledger: Ledger,
  hour: string,
): Promise<{ counts: Counts | null; recount: Counts }> {
  const [row] = await ledger.all(
    `SELECT counted.*, found.* FROM
      (SELECT count(*) AS found_n, coalesce(min(seq), 0) AS found_first_seq,
        coalesce(max(seq), 0) AS found_last_seq FROM actions
        WHERE project_id = ?1 AND substr(created_at, 1, 13) = ?2
        AND number <= ${doneBy("counts")}) AS found
      LEFT JOIN (${COUNTED_HOUR} WHERE project_id = ?1 AND hour = ?2) AS counted`,
    [ledger.project_id, hour],
  );
  const counts = row!.hour === null ? null : countsOf(row!, HOUR_NAMES);
  return { counts, recount: foundOf(row!, HOUR_NAMES) };
}

/** The first of these rows that a listing lacks; null if it has all of them. */
export async function findUnlisted(
  ledger: Ledger,
  { index, of, rows: from, key, names }: Listing,
  { after, last }: { after: number; last: number },
): Promise<number | null> {
  const missing = names.map((name) =>
    `(${name} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${index}
      WHERE ${index}.project_id = ${of}.project_id AND ${index}.name = '${name}'
      AND ${index}.value = ${of}.${name} AND ${index}.seq = ${of}.seq))`
  );
  const [row] = await ledger.all(
    `SELECT seq FROM ${from} WHERE project_id = ? AND ${key} > ? AND ${key} <= ?
      AND ${key} <= ${doneBy(index)} AND (${missing.join(" OR ")}) ORDER BY ${key} LIMIT 1`,
    [ledger.project_id, after, last],
  );
  return row ? Number(row.seq) : null;
}

/** A place in an index table. */
export interface Entry {
  name: Uint8Array;
  value: Uint8Array;
  seq: number;
  /** Whether its row has this value. */
  is_true: boolean;
}

/** At most `limit` entries of a listing, in its order. */
export async function listEntries(
  ledger: Ledger,
  { index, of, names }: Listing,
  after: Entry | null,
  limit: number,
): Promise<Entry[]> {
  const value = names.map((name) => `WHEN '${name}' THEN ${of}.${name}`).join(" ");
  const rows = await ledger.all(
    `SELECT CAST(name AS BLOB) AS name, CAST(value AS BLOB) AS value, seq,
      EXISTS (SELECT 1 FROM ${of} WHERE ${of}.project_id = ${index}.project_id
        AND ${of}.seq = ${index}.seq AND CASE name ${value} END = value) AS is_true
      FROM ${index} WHERE project_id = ?
        AND (name, value, seq) > (CAST(? AS TEXT), CAST(? AS TEXT), ?)
      ORDER BY name, value, seq LIMIT ?`,
    [
      ledger.project_id,
      after?.name ?? new Uint8Array(),
      after?.value ?? new Uint8Array(),
      after?.seq ?? 0,
      limit,
    ],
  );
  return rows.map((row) => ({
    name: row.name as Uint8Array,
    value: row.value as Uint8Array,
    seq: Number(row.seq),
    is_true: row.is_true === 1,
  }));
}

/** The blocks of actions with noted words. */
export async function listBlocks(ledger: Ledger): Promise<number[]> {
  const rows = await ledger.all(
    "SELECT DISTINCT block FROM word_blocks WHERE project_id = ? ORDER BY block",
    [ledger.project_id],
  );
  return rows.map(({ block }) => Number(block));
}

/** The noted words of a block, each as one text. */
export function listBlock(ledger: Ledger, block: number): Promise<string[]> {
  return listNoted(ledger, "word_blocks WHERE block", block);
}

/** The noted words of a group of blocks, each as one text. */
export async function listGroup(ledger: Ledger, group: number): Promise<string[]> {
  const rows = await listNoted(ledger, "word_groups WHERE block_group", group);
  return rows.filter((row) => row !== GROUP_NOTED);
}

async function listNoted(ledger: Ledger, column: string, number: number): Promise<string[]> {
  const rows = await ledger.all(
    `SELECT CAST(word AS BLOB) AS word, place, CAST(meets AS BLOB) AS meets
      FROM ${column} = ? AND project_id = ?`,
    [number, ledger.project_id],
  );
  return rows.map(({ word, place, meets }) =>
    rowOf({ word: textOf(word), place: Number(place), meets: textOf(meets) })
  );
}

/** A noted word as one text. */
export function rowOf({ word, place, meets }: BlockWord): string {
  return `"${word}" ${place} ${meets}`;
}

const GROUP_NOTED = rowOf(NOTED);

function countsOf(row: Row, names: readonly string[]): Counts {
  return Object.fromEntries(names.map((name) => [name, Number(row[name])]));
}

function foundOf(row: Row, names: readonly string[]): Counts {
  return Object.fromEntries(names.map((name) => [name, Number(row[`found_${name}`])]));
}
