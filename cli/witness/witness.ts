import { execFile } from "node:child_process";
import { ProblemError, unwrap } from "../../server/client.ts";
import type { Problem } from "../../server/evidence/check.ts";
import { systemPlaces, systemProgram } from "../../server/runtime/system_program.ts";
import { JOURNAL_TAG, readHeadLine } from "../../server/evidence/journal.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { paint, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { memoryPath, readHeads, type SeenHead, type SeenHeads, writeHeads } from "./memory.ts";

/** A ledger that does not hold what a witness has seen. */
export interface StepBack extends Problem {
  project_id: string;
}

const MOST_PROJECTS = 50;

/**
 * Compares the ledgers of these projects with the heads that this user's terminals have seen. Returns
 * those that lost or changed an event, whose heads stay remembered. Remembers the newer heads of the
 * others, unless `remembers` is false.
 */
export async function witness(
  io: Io,
  connection: Connection,
  projects: readonly string[],
  { remembers = true } = {},
): Promise<StepBack[]> {
  const { home } = placeOf(io);
  const { heads, damage } = readHeads(io, home);
  const found: StepBack[] = [];
  const newer: SeenHeads = {};
  if (damage !== null) sayAlarm(io, `Cannot read "${memoryPath(io)}": ${damage}; a new one begins`);
  for (const project_id of [...new Set(projects)].slice(0, MOST_PROJECTS)) {
    const seen = heads[project_id];
    const what = await compare(connection, project_id, seen, (head) => {
      newer[project_id] = head;
    }).catch(unlessAway);
    if (what !== null) found.push({ project_id, seq: seen!.seq, what: `${what} (a terminal)` });
  }
  if (remembers && Object.keys(newer).length > 0) writeHeads(io, home, { newer });
  return found;
}

/** A ledger whose server does not answer is compared another time; its project has the error. */
function unlessAway(error: unknown): null {
  if (error instanceof ProblemError && error.problem["server"] === "away") return null;
  throw error;
}

/** As `witness`, for all projects, and with those that the gate no longer knows. */
export async function witnessAll(io: Io, connection: Connection): Promise<StepBack[]> {
  const { items } = await unwrap(connection.client.api.hub.projects.$get());
  const known = items.map(({ id }) => id);
  const cut = await witness(io, connection, items.filter((one) => !one.unread).map(({ id }) => id));
  return [...cut, ...await findLost(io, connection, known)];
}

/** The projects that terminals have seen in this data folder and that the gate no longer knows. */
export async function findLost(
  io: Io,
  connection: Connection,
  known: readonly string[],
): Promise<StepBack[]> {
  const { heads } = readHeads(io, placeOf(io).home);
  const missing = Object.entries(heads).filter(([id]) => !known.includes(id));
  const found: StepBack[] = [];
  for (const [project_id, seen] of missing.slice(0, MOST_PROJECTS)) {
    if (await isKnown(connection, project_id)) continue;
    const what = `the gate no longer knows the project, whose event ${seen.seq} had been seen`;
    found.push({ project_id, seq: seen.seq, what: `${what} (a terminal)` });
  }
  return found;
}

async function isKnown(connection: Connection, project: string): Promise<boolean> {
  try {
    await unwrap(scopedClient(connection, project).api.audit.head.$get({ query: {} }));
    return true;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return error.problem.code !== "not_found";
  }
}

/** Compares the ledgers with the heads in the system's journal, where there is one. */
export async function witnessJournal(
  io: Io,
  connection: Connection,
  projects: readonly string[],
): Promise<StepBack[]> {
  const heads = await readJournal(io);
  const found: StepBack[] = [];
  for (const project_id of projects) {
    const seen = heads.get(project_id);
    if (seen === undefined) continue;
    const what = await compare(connection, project_id, seen, () => {});
    if (what !== null) {
      found.push({ project_id, seq: seen.seq, what: `${what} (the system's journal)` });
    }
  }
  return found;
}

/** Forgets projects that a person has removed. */
export function forgetHeads(io: Io, projects: readonly string[]): void {
  writeHeads(io, placeOf(io).home, { gone: projects });
}

/** Prints each step back on standard error, with the next step. */
export function sayStepBacks(io: Io, found: readonly StepBack[]): void {
  for (const { project_id, what } of found) {
    sayAlarm(io, `The audit log of "${project_id}" is not what it was: ${what}`);
  }
  if (found.length === 0) return;
  say(io, `  Someone cut, replaced or rewrote it. Run: gate audit verify`);
  say(io, `  If you restored or removed it yourself, delete ${visibleLine(memoryPath(io))}`);
}

function sayAlarm(io: Io, text: string): void {
  say(io, paint(io, "red", `!! ${visibleLine(text)}`));
}

async function compare(
  connection: Connection,
  project: string,
  seen: SeenHead | undefined,
  note: (head: SeenHead) => void,
): Promise<string | null> {
  const query = seen === undefined ? {} : { at: String(seen.seq) };
  const head = await unwrap(
    scopedClient(connection, project).api.audit.head.$get({ query }),
  );
  const what = stepBackIn(head, seen);
  if (what === null && head.seq > (seen?.seq ?? 0)) {
    note({ seq: head.seq, hash: head.hash, at: new Date().toISOString() });
  }
  return what;
}

function stepBackIn(
  head: { seq: number; at: { seq: number; hash: string } | null },
  seen: SeenHead | undefined,
): string | null {
  if (seen === undefined) return null;
  if (head.seq >= seen.seq && head.at === null) {
    return `event ${seen.seq} had been seen, and now it is missing from the chain`;
  }
  if (head.seq < seen.seq || head.at === null) {
    return `event ${seen.seq} had been seen, and now the newest is event ${head.seq}`;
  }
  return head.at.hash === seen.hash ? null : `event ${seen.seq} is not the one that had been seen`;
}

const JOURNAL_MS = 5_000;
const MAX_JOURNAL = 16 * 1024 * 1024;

/** The newest head of each project in the journal. Empty where there is no journal. */
function readJournal(io: Io): Promise<Map<string, SeenHead>> {
  const args = ["-t", JOURNAL_TAG, "-o", "cat", "--no-pager", "-n", "20000"];
  const env = { PATH: io.env.PATH ?? "" };
  const journalctl = systemProgram("journalctl", systemPlaces(io.env));
  if (journalctl === null) return Promise.resolve(new Map());
  return new Promise((resolve) => {
    const options = { env, timeout: JOURNAL_MS, maxBuffer: MAX_JOURNAL };
    execFile(journalctl, args, options, (error, stdout) => {
      const heads = new Map<string, SeenHead>();
      const { home } = placeOf(io);
      for (const line of error ? [] : stdout.split("\n")) {
        const head = readHeadLine(line, home);
        if (head && (heads.get(head.project_id)?.seq ?? 0) < head.seq) {
          heads.set(head.project_id, { seq: head.seq, hash: head.hash, at: "" });
        }
      }
      resolve(heads);
    });
  });
}
