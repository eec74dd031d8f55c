import { existsSync, renameSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { clearLedger, copyLedger } from "./copy_ledger.ts";
import { Database, type LedgerDatabase } from "./database.ts";
import { requireTexts } from "./health.ts";
import { takeOwnership } from "./owner.ts";
import {
  markCopy,
  readMark,
  readPlacement,
  removePlacement,
  takeCopy,
  writePlacement,
} from "./placement.ts";
import { type ServerAddress, ServerDatabase } from "./server_database.ts";
import { GateError } from "../errors.ts";
import { settleEntries } from "../runtime/files.ts";

/** A ledger that nobody has open. */
export interface ClosedLedger {
  project_id: string;
  folder: string;
  pid: number;
  /** The present time. */
  at: string;
}

/**
 * Copies a ledger to a server and uses it there from then on. Until the last step the file stays the
 * ledger; it remains as a copy of this moment. @throws GateError `conflict`, `unavailable`
 */
export async function moveToServer(
  ledger: ClosedLedger,
  address: ServerAddress,
): Promise<{ rows: number }> {
  const { project_id, folder, at } = ledger;
  return await owning(ledger, async (opened) => {
    const path = join(folder, "ledger.db");
    const local = opened(await Database.open(path));
    await requireTexts(local);
    const server = opened(await ServerDatabase.open(address));
    await requireOwnOrEmpty(server, local, project_id);
    const copy_id = crypto.randomUUID();
    const mark = { project_id, copy_id, host: hostname(), at };
    await server.batch(markCopy({ ...mark, state: "copying" }));
    await clearLedger(server);
    const copied = await copyLedger(local, server);
    await server.batch(markCopy({ ...mark, state: "home" }));
    writePlacement(folder, { url: address.url, copy_id, moved_at: at });
    await settleEntries([path]);
    // Without its placement the file would be taken for the ledger.
    await local.batch(markCopy({ ...mark, state: "left" }));
    return copied;
  });
}

/**
 * Copies a ledger from its server into a new file and uses that from then on. Until the last step
 * the server's copy stays the ledger; it remains there. @throws GateError `conflict`, `unavailable`
 */
export async function moveFromServer(
  ledger: ClosedLedger,
  address: ServerAddress,
): Promise<{ rows: number }> {
  const { project_id, folder, at } = ledger;
  return await owning(ledger, async (opened) => {
    const placement = readPlacement(folder);
    if (!placement) throw new GateError("conflict", "Cannot move the ledger: it is here already");
    const server = opened(await ServerDatabase.open(address));
    await takeCopy(server, placement, project_id);
    const [path, arriving] = [join(folder, "ledger.db"), join(folder, "ledger.db.arriving")];
    removeDatabase(arriving);
    const local = opened(await Database.open(arriving));
    const copied = await copyLedger(server, local);
    await local.close();
    // What lies there is older than the chain on the server.
    moveDatabase(path, `${path}.before-${at.replaceAll(/[:.]/g, "-")}`);
    moveDatabase(arriving, path);
    await settleEntries([path]);
    removePlacement(folder);
    await settleEntries([path]);
    const { copy_id } = placement;
    const left = { project_id, copy_id, host: hostname(), at, state: "left" as const };
    // Nobody opens the copy any more, so it may keep its old mark.
    await server.batch(markCopy(left)).catch(() => {});
    return copied;
  });
}

/** Runs `task` as the owner of the folder and closes what it opened. */
async function owning<T>(
  { folder, pid }: ClosedLedger,
  task: (opened: <D extends LedgerDatabase>(database: D) => D) => Promise<T>,
): Promise<T> {
  const owner = takeOwnership(folder, pid);
  const all: LedgerDatabase[] = [];
  try {
    return await task((database) => {
      all.push(database);
      return database;
    });
  } finally {
    for (const database of all) await database.close();
    owner.release();
  }
}

/** @throws GateError `conflict` unless the database is empty or holds an older copy of this chain */
async function requireOwnOrEmpty(
  server: ServerDatabase,
  local: Database,
  project_id: string,
): Promise<void> {
  const tables = await server.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'libsql_%'",
  );
  if (tables.length === 0) return;
  const mark = await readMark(server);
  const holdsChain = tables.some(({ name }) => name === "audit");
  const isOwn = mark?.project_id === project_id &&
    (!holdsChain || await isBeginning(server, local, project_id));
  if (isOwn) return;
  const found = mark === null
    ? "tables that are no ledger"
    : mark.project_id === project_id
    ? `another ledger of "${project_id}", from ${mark.host}`
    : `the ledger of "${mark.project_id}", from ${mark.host}`;
  const message =
    `Cannot move the ledger of "${project_id}": the database on ${server.path} holds ` +
    `${found}; use an empty one, or write {project} into "storage.url" for one database each`;
  throw new GateError("conflict", message);
}

/** Whether the server's newest event is an event of the local chain. */
async function isBeginning(
  server: ServerDatabase,
  local: Database,
  project_id: string,
): Promise<boolean> {
  const [newest] = await server.all(
    "SELECT seq, hash FROM audit WHERE project_id = ? ORDER BY seq DESC LIMIT 1",
    [project_id],
  );
  if (!newest) return true;
  const known = await local.all(
    "SELECT 1 FROM audit WHERE project_id = ? AND seq = ? AND hash = ?",
    [project_id, newest.seq!, newest.hash!],
  );
  return known.length > 0;
}

const PARTS = ["-wal", "-shm", ""];

function removeDatabase(path: string): void {
  for (const part of PARTS) rmSync(path + part, { force: true });
}

function moveDatabase(from: string, to: string): void {
  for (const part of PARTS) if (existsSync(from + part)) renameSync(from + part, to + part);
}
