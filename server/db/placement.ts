import { existsSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { GateError } from "../errors.ts";
import { settleEntries } from "../runtime/files.ts";
import { readSmallFile, writeWhole } from "../runtime/small_file.ts";
import type { LedgerDatabase } from "./database.ts";
import type { Machine, MachineName, Statement } from "./ledger.ts";
import { addFirstMachine, findMachine, MACHINES, nameOpening, noteOpened } from "./machines.ts";
import { CREATE_PASSED } from "./passing.ts";
import { CAN_USE, newerError, schemaOf } from "./migrate.ts";
import type { ServerDatabase } from "./server_database.ts";

/** Where a project's ledger is, if it is on a server. The file beside `ledger.db` says so. */
export const Placement = z.strictObject({
  url: z.string(),
  /** Names the one copy on the server that this home opens. */
  copy_id: z.string(),
  moved_at: z.string(),
  /** The file of the ledger that this home used before it joined the machines that share this one. */
  set_aside: z.string().optional(),
});
export type Placement = z.infer<typeof Placement>;

const MOST_BYTES = 16 * 1024;

const fileIn = (folder: string) => join(folder, "server.json");

/** The ledger's place on a server; null if it is in this folder. @throws GateError `unavailable` */
export function readPlacement(folder: string): Placement | null {
  const path = fileIn(folder);
  if (!existsSync(path)) return null;
  try {
    return Placement.parse(JSON.parse(readSmallFile(path, MOST_BYTES)));
  } catch (cause) {
    const message = `Cannot open the ledger: "${path}", which says on which server it is, cannot ` +
      "be read; put the file back";
    throw new GateError("unavailable", message, { cause });
  }
}

/** From now on the ledger is on the server. */
export function writePlacement(folder: string, placement: Placement): void {
  writeWhole(fileIn(folder), `${JSON.stringify(placement, null, 2)}\n`, 0o600);
}

/** From now on the ledger is in this folder. */
export function removePlacement(folder: string): void {
  rmSync(fileIn(folder));
}

/** The files of one database. */
export const DATABASE_PARTS = ["-wal", "-shm", ""];

export function moveDatabase(from: string, to: string): void {
  for (const part of DATABASE_PARTS) {
    if (existsSync(from + part)) renameSync(from + part, to + part);
  }
}

/**
 * Puts the file aside of the ledger that this home used before it joined the machines that share this
 * one, unless that is done: a crash may have come before.
 */
export async function setAside(folder: string, { set_aside }: Placement): Promise<void> {
  if (set_aside === undefined) return;
  const [path, aside] = [join(folder, "ledger.db"), join(folder, basename(set_aside))];
  if (existsSync(aside)) return;
  moveDatabase(path, aside);
  await settleEntries([path]);
}

/** The table that names the copy, on the server and in the file that it was copied from. */
export const PLACEMENT = "placement";

/** Whether the copy is being made, is the ledger, or was left for a file. */
type CopyState = "copying" | "home" | "left";

/** The name of a copy, with the machine for a person who looks at it from another one. */
export interface CopyMark {
  project_id: string;
  copy_id: string;
  host: string;
  state: CopyState;
  at: string;
}

/** Statements that make the mark of a copy, or replace it. */
export function markCopy({ project_id, copy_id, host, state, at }: CopyMark): Statement[] {
  return [{
    sql: `CREATE TABLE IF NOT EXISTS ${PLACEMENT} (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      project_id TEXT NOT NULL,
      copy_id TEXT NOT NULL,
      host TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('copying', 'home', 'left')),
      at TEXT NOT NULL,
      opened_by TEXT NOT NULL DEFAULT ''
    ) STRICT`,
    args: [],
  }, {
    sql: `INSERT OR REPLACE INTO ${PLACEMENT} (one, project_id, copy_id, host, state, at)
      VALUES (1, ?, ?, ?, ?, ?)`,
    args: [project_id, copy_id, host, state, at],
  }];
}

/** The mark in a database; null if there is none. */
export async function readMark(
  database: Pick<LedgerDatabase, "all">,
): Promise<CopyMark | null> {
  const tables = await database.all("SELECT 1 FROM sqlite_schema WHERE name = ?", [PLACEMENT]);
  if (tables.length === 0) return null;
  const [row] = await database.all(
    `SELECT project_id, copy_id, host, state, at FROM ${PLACEMENT}`,
  );
  if (!row) return null;
  return {
    project_id: String(row.project_id),
    copy_id: String(row.copy_id),
    host: String(row.host),
    state: row.state as CopyState,
    at: String(row.at),
  };
}

/** How a process holds a copy on a server. */
export interface TakenCopy {
  machine: Machine;
  /** Names this opening: the next one by the same home ends it. */
  opened_by: string;
}

/**
 * Makes this process the only one of its home that commits to the copy: commits of a process with a
 * copy of the home fail from now on. Other machines that share the ledger go on.
 * @throws GateError `unavailable` unless the copy is a ledger that this machine uses
 */
export async function takeCopy(
  database: ServerDatabase,
  placement: Placement,
  { project_id, own, at, schema }: {
    project_id: string;
    own: MachineName;
    at: string;
    /** That of this release. */
    schema: number;
  },
): Promise<TakenCopy> {
  await requireCopy(database, placement, project_id);
  const opened_by = nameOpening(schema);
  await database.batch([
    ...addFirstMachine(own, at),
    CREATE_PASSED,
    noteOpened(own, opened_by),
    // The release before the sharing looks here alone.
    {
      sql: `UPDATE ${PLACEMENT} SET opened_by = ? WHERE copy_id = ?
        AND EXISTS (SELECT 1 FROM ${MACHINES} WHERE id = ? AND is_first)`,
      args: [opened_by, placement.copy_id, own.id],
    },
  ]);
  const machine = await findMachine(database, own.id);
  if (machine === null) {
    const message = `Cannot open the ledger of "${project_id}" on ${placement.url}: this machine ` +
      "is none of those that share it";
    throw new GateError("unavailable", message, {
      next: "join them again (gate hub leave, then gate hub join)",
    });
  }
  const taken = { machine, opened_by };
  guardCopy(database, placement, taken);
  return taken;
}

/**
 * From now on a batch fails once the copy is no longer held: it was opened by a copy of this home, the
 * ledger was moved, this machine was removed, or a release with this schema cannot use it any more.
 */
export function guardCopy(
  database: ServerDatabase,
  { copy_id }: Placement,
  { machine, opened_by, schema = null }: TakenCopy & { schema?: number | null },
): void {
  const usable = schema === null ? "" : `AND ${CAN_USE}`;
  const fence = {
    // SQLite evaluates only the branch that it takes.
    sql: `SELECT CASE WHEN
      EXISTS (SELECT 1 FROM ${MACHINES} WHERE id = ? AND opened_by = ?)
      AND EXISTS (SELECT 1 FROM ${PLACEMENT} WHERE copy_id = ? AND state = 'home')
      ${usable} THEN 1 ELSE json('{') END`,
    args: [machine.id, opened_by, copy_id, ...schema === null ? [] : [schema]],
  };
  database.guardBy(fence, (reader) => whyLost(reader, { copy_id, machine, schema }));
}

/** Says why this process no longer holds the copy, and what a person does about it. */
async function whyLost(
  database: Pick<LedgerDatabase, "all" | "path">,
  { copy_id, machine, schema }: Pick<Placement, "copy_id"> & {
    machine: Machine;
    schema: number | null;
  },
): Promise<GateError> {
  const cannot = `Cannot use the ledger on ${database.path}`;
  const current = await schemaOf(database);
  if (schema !== null && current.needs > schema) return newerError(cannot, current, schema);
  const mark = await readMark(database);
  const [why, next] = mark?.copy_id !== copy_id || mark.state !== "home"
    ? [
      "another machine has moved it away",
      "see gate hub status there, then run gate hub leave here",
    ]
    : await findMachine(database, machine.id) === null
    ? [
      "another machine has removed this machine",
      "join again (gate hub leave, then gate hub join --shared)",
    ]
    : [
      "another daemon with a copy of this home has opened it",
      "stop that one (gate daemon stop) and restart gate (gate daemon restart)",
    ];
  return new GateError("unavailable", `${cannot}: ${why}`, { next });
}

async function requireCopy(
  database: ServerDatabase,
  placement: Placement,
  project_id: string,
): Promise<void> {
  const mark = await readMark(database);
  const isOurs = mark?.copy_id === placement.copy_id && mark.project_id === project_id;
  if (isOurs && mark.state === "home") return;
  const found = mark === null
    ? "it holds no ledger"
    : isOurs
    ? `its copy is marked "${mark.state}"`
    : `it holds the ledger of "${mark.project_id}" from ${mark.host}`;
  const message = `Cannot open the ledger of "${project_id}" on ${placement.url}: ${found}`;
  throw new GateError("unavailable", message, { next: "restore the server's database" });
}

/** @throws GateError `unavailable` for a file whose ledger was moved to a server */
export async function requireNotMoved(
  database: Pick<LedgerDatabase, "all" | "path">,
): Promise<void> {
  const mark = await readMark(database);
  if (mark === null) return;
  const message =
    `Cannot open "${database.path}": its ledger was moved to a server on ${mark.at}, ` +
    'and "server.json" beside it is gone';
  throw new GateError("unavailable", message, { next: "put that file back" });
}
