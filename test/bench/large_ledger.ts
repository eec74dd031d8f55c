import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Signer } from "../../server/audit/signer.ts";
import { insertCheckpoint, link } from "../../server/db/chain.ts";
import { Database } from "../../server/db/database.ts";
import type { NewEvent, Row, Statement } from "../../server/db/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../server/db/ledger_migrations.ts";
import { migrate } from "../../server/db/migrate.ts";
import { projectSome } from "../../server/db/projections.ts";
import { noteNextBlock } from "../../server/db/word_blocks.ts";
import { noteNextGroup } from "../../server/db/word_groups.ts";
import { GENESIS, type Head } from "../../server/evidence/chain.ts";
import { createRandom } from "../random.ts";
import { type Made, makeAction, makeSession } from "./made_actions.ts";

const CHUNK = 2_000;
const REOPEN = 20 * CHUNK;
const SPAN_MS = 90 * 86_400_000;

export interface LargeLedger {
  project_id: string;
  /** The folder of `ledger.db`, which must not exist yet. */
  folder: string;
  signer: Signer;
  actions: number;
  /** The time of the last action. */
  until: number;
}

/**
 * Fills a ledger like months of work, with two events per action. Uses the real tables, triggers and
 * indexes, a valid hash chain and signed checkpoints. Continues an interrupted run.
 */
export async function makeLargeLedger(options: LargeLedger): Promise<void> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  let database = await openFast(options);
  let { made, head } = await readProgress(database);
  while (made < options.actions) {
    const chunk = makeChunk(options, made);
    const statements = toStatements(options.project_id, chunk);
    const chained = chain(options, head, chunk);
    await database.batch([...statements, ...chained.statements]);
    head = chained.head;
    made += chunk.length;
    if (made % REOPEN !== 0) continue;
    // Only closing the connection frees its prepared statements.
    await database.close();
    database = await openFast(options);
  }
  await settle(options.project_id, database);
  await database.close();
}

/** Fills the derived tables, so that no figure includes what a daemon does once after a migration. */
async function settle(project_id: string, database: Database): Promise<void> {
  const isBehind = (rows: Row[][]) => rows.some(([row]) => Number(row?.is_behind ?? 0) === 1);
  while (isBehind(await database.batch(projectSome())));
  const all: Database["all"] = (sql, args) => database.all(sql, args);
  const exclusive: Database["exclusive"] = (task) => database.exclusive(task);
  while (await noteNextBlock({ project_id, all, exclusive }));
  while (await noteNextGroup({ project_id, all, exclusive }));
}

async function openFast({ folder, until }: LargeLedger): Promise<Database> {
  const database = await Database.open(join(folder, "ledger.db"));
  // The data need not survive a power cut.
  await database.all("PRAGMA synchronous = OFF");
  await database.all("PRAGMA cache_size = -200000");
  await migrate(database, LEDGER_MIGRATIONS, () => until);
  return database;
}

async function readProgress(database: Database): Promise<{ made: number; head: Head }> {
  const [actions] = await database.all("SELECT max(seq) AS made FROM actions");
  const [event] = await database.all("SELECT seq, hash FROM audit ORDER BY rowid DESC LIMIT 1");
  const head = event ? { seq: Number(event.seq), hash: String(event.hash) } : GENESIS;
  return { made: Number(actions?.made ?? 0), head };
}

function makeChunk(options: LargeLedger, from: number): Made[] {
  const random = createRandom(from);
  const count = Math.min(CHUNK, options.actions - from);
  const step = SPAN_MS / options.actions;
  const begin = options.until - SPAN_MS;
  return Array.from(
    { length: count },
    (_, n) => {
      const number = from + n + 1;
      const is_recent = options.actions - number < 100_000;
      return makeAction(number, { time: begin + number * step, is_recent, random });
    },
  );
}

/** Inserts held actions as pending and updates them, as gate does. */
function toStatements(project_id: string, made: Made[]): Statement[] {
  const sessions = [...new Set(made.map(({ action }) => action.session))]
    .map((number) => makeSession(number, made[0]!.action.created_at));
  return [
    insertMany("sessions", project_id, sessions, "ON CONFLICT DO NOTHING"),
    insertMany("actions", project_id, made.map(({ action: { session: _, ...row } }) => row)),
    ...made.flatMap(({ later }) => later === null ? [] : [decide(project_id, later)]),
  ];
}

function decide(project_id: string, { id, ...fields }: Record<string, unknown>): Statement {
  const set = Object.keys(fields).map((name) => `${name} = ?`).join(", ");
  return {
    sql: `UPDATE actions SET ${set} WHERE project_id = ? AND id = ?`,
    args: [...Object.values(fields) as string[], project_id, String(id)],
  };
}

function insertMany(
  table: string,
  project_id: string,
  rows: Record<string, unknown>[],
  end = "",
): Statement {
  const names = Object.keys(rows[0]!);
  return {
    sql: `INSERT INTO ${table} (project_id, ${names.join(", ")})
      SELECT ?, ${names.map((name) => `value ->> '${name}'`).join(", ")}
      FROM json_each(?) WHERE true ${end}`,
    args: [project_id, JSON.stringify(rows)],
  };
}

function chain({ project_id, signer }: LargeLedger, head: Head, made: Made[]) {
  const events = made.flatMap(({ action, events }): (NewEvent & { at: string })[] =>
    events.map((event) => ({ ...event, at: action.created_at }))
  );
  let at = head;
  const linked = events.map(({ at: time, ...event }) => {
    const [one] = link(at, [event], { project_id, at: time });
    at = { seq: one!.event.seq, hash: one!.event.hash };
    return one!;
  });
  const rows = linked.map(({ event: { project_id: _, ...event }, actor, data }) => ({
    ...event,
    actor,
    data,
  }));
  const signed = linked.map(({ event }) => event).filter(({ seq }) => seq % 1_000 === 0)
    .map((event) => insertCheckpoint(signer.sign({ ...event, project_id })));
  return { head: at, statements: [insertMany("audit", project_id, rows), ...signed] };
}
