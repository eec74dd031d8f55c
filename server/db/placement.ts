import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { GateError } from "../errors.ts";
import { readSmallFile, writeWhole } from "../runtime/small_file.ts";
import type { LedgerDatabase } from "./database.ts";
import type { Statement } from "./ledger.ts";
import type { ServerDatabase } from "./server_database.ts";

/** Where a project's ledger is, if it is on a server. The file beside `ledger.db` says so. */
export const Placement = z.strictObject({
  url: z.string(),
  /** Names the one copy on the server that this home opens. */
  copy_id: z.string(),
  moved_at: z.string(),
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

/** The table that names the copy, on the server and in the file that it was copied from. */
export const PLACEMENT = "placement";

/** Whether the copy is being made, is the ledger, or was left for a file. */
type CopyState = "copying" | "home" | "left";

/** The name of a copy, with the machine for a person who looks at it from another one. */
interface CopyMark {
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

/**
 * Makes this process the only one that commits to the copy: commits of the process that had it open
 * fail from now on. @throws GateError `unavailable` unless the copy is this home's ledger
 */
export async function takeCopy(
  database: ServerDatabase,
  placement: Placement,
  project_id: string,
): Promise<void> {
  const mark = await readMark(database);
  const isOurs = mark?.copy_id === placement.copy_id && mark.project_id === project_id;
  if (!isOurs || mark.state !== "home") {
    const found = mark === null
      ? "it holds no ledger"
      : isOurs
      ? `its copy is marked "${mark.state}"`
      : `it holds the ledger of "${mark.project_id}" from ${mark.host}`;
    const message = `Cannot open the ledger of "${project_id}" on ${placement.url}: ${found}; ` +
      "restore the server's database";
    throw new GateError("unavailable", message);
  }
  const opened_by = crypto.randomUUID();
  await database.batch([{
    sql: `UPDATE ${PLACEMENT} SET opened_by = ? WHERE copy_id = ?`,
    args: [opened_by, placement.copy_id],
  }]);
  database.guardBy({
    // SQLite evaluates only the branch that it takes.
    sql: `SELECT CASE WHEN (SELECT opened_by FROM ${PLACEMENT}) = ? THEN 1 ELSE json('{') END`,
    args: [opened_by],
  });
}

/** @throws GateError `unavailable` for a file whose ledger was moved to a server */
export async function requireNotMoved(
  database: Pick<LedgerDatabase, "all" | "path">,
): Promise<void> {
  const mark = await readMark(database);
  if (mark === null) return;
  const message =
    `Cannot open "${database.path}": its ledger was moved to a server on ${mark.at}, ` +
    'and "server.json" beside it is gone; put that file back';
  throw new GateError("unavailable", message);
}
