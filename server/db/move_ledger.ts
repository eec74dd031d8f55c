import { existsSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { clearLedger, copyLedger } from "./copy_ledger.ts";
import { Database, type LedgerDatabase } from "./database.ts";
import { requireTexts } from "./health.ts";
import type { MachineName } from "./ledger.ts";
import { LEDGER_MIGRATIONS } from "./ledger_migrations.ts";
import {
  addFirstMachine,
  addMachine,
  carryMachines,
  hasMachines,
  listMachines,
  removeMachine,
  removeOthers,
} from "./machines.ts";
import { requireNoNewer } from "./migrate.ts";
import { takeOwnership } from "./owner.ts";
import {
  type CopyMark,
  DATABASE_PARTS,
  markCopy,
  moveDatabase,
  readMark,
  readPlacement,
  removePlacement,
  setAside,
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
  /** The name of this machine. */
  own: MachineName;
}

/**
 * Copies a ledger to a server and uses it there from then on. Until the last step the file stays the
 * ledger; it remains as a copy of this moment. @throws GateError `conflict`, `unavailable`
 */
export async function moveToServer(
  ledger: ClosedLedger,
  address: ServerAddress,
): Promise<{ rows: number }> {
  const { project_id, folder, at, own } = ledger;
  return await owning(ledger, async (opened) => {
    const path = join(folder, "ledger.db");
    const local = opened(await Database.open(path));
    await requireTexts(local);
    const server = opened(await ServerDatabase.open(address));
    await requireOwnOrEmpty(server, local, ledger);
    const copy_id = crypto.randomUUID();
    const mark = { project_id, copy_id, host: hostname(), at };
    await server.batch(markCopy({ ...mark, state: "copying" }));
    await clearLedger(server);
    const copied = await copyLedger(local, server);
    await carryMachines(local, server, { own: own.id, at });
    await server.batch([...addFirstMachine(own, at), ...markCopy({ ...mark, state: "home" })]);
    writePlacement(folder, { url: address.url, copy_id, moved_at: at });
    await settleEntries([path]);
    // Without its placement the file would be taken for the ledger.
    await local.batch(markCopy({ ...mark, state: "left" }));
    return copied;
  });
}

/**
 * Copies a ledger from its server into a new file and uses that from then on. Until the last step
 * the server's copy stays the ledger; it remains there. No other machine can use it any more.
 * @throws GateError `conflict`, `unavailable`
 */
export async function moveFromServer(
  ledger: ClosedLedger,
  address: ServerAddress,
): Promise<{ rows: number }> {
  const { project_id, folder, at, own } = ledger;
  return await owning(ledger, async (opened) => {
    const placement = readPlacement(folder);
    if (!placement) throw new GateError("conflict", "Cannot move the ledger: it is here already");
    const server = opened(await ServerDatabase.open(address));
    const schema = LEDGER_MIGRATIONS.at(-1)!.version;
    await requireNoNewer(server, LEDGER_MIGRATIONS);
    await takeCopy(server, placement, { project_id, own, at, schema });
    // A commit of another machine from here on would not come along.
    await server.batch([removeOthers(own.id, at)]);
    const [path, arriving] = [join(folder, "ledger.db"), join(folder, "ledger.db.arriving")];
    removeDatabase(arriving);
    const local = opened(await Database.open(arriving));
    const copied = await copyLedger(server, local);
    await carryMachines(server, local, { own: own.id, at });
    await local.close();
    // The ledger in that place is older than the chain on the server.
    moveDatabase(path, join(folder, asideName(folder, at)));
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

/**
 * Uses the ledger that other machines have on the server, together with them. The ledger of this home
 * stays beside it and is not used any more. @throws GateError `unavailable`
 */
export async function joinMachines(
  ledger: ClosedLedger,
  address: ServerAddress,
  { copy_id }: CopyMark,
): Promise<void> {
  const { folder, at, own } = ledger;
  await owning(ledger, async (opened) => {
    const server = opened(await ServerDatabase.open(address));
    await server.batch([addMachine(own, at)]);
    const placement = { url: address.url, copy_id, moved_at: at, set_aside: asideName(folder, at) };
    writePlacement(folder, placement);
    await setAside(folder, placement);
  });
}

/**
 * Leaves the ledger to the other machines. This home goes on with the ledger that it used before, or
 * with a new one. @throws GateError `conflict`, `unavailable`
 */
export async function leaveMachines(ledger: ClosedLedger, address: ServerAddress): Promise<void> {
  const { folder, at, own } = ledger;
  await owning(ledger, async (opened) => {
    const placement = readPlacement(folder);
    if (!placement) throw new GateError("conflict", "Cannot leave the ledger: it is here already");
    const server = opened(await ServerDatabase.open(address));
    await server.batch([removeMachine(own.id, at)]);
    const path = join(folder, "ledger.db");
    // The ledger in that place only mirrors the keys and configs of the shared one.
    moveDatabase(path, join(folder, asideName(folder, at)));
    removePlacement(folder);
    await settleEntries([path]);
    const before = placement.set_aside && join(folder, basename(placement.set_aside));
    if (before && existsSync(before)) moveDatabase(before, path);
    await settleEntries([path]);
  });
}

/** A name in the folder that no earlier ledger has. */
function asideName(folder: string, at: string): string {
  const name = `ledger.db.before-${at.replaceAll(/[:.]/g, "-")}`;
  for (let n = 1;; n++) {
    const free = n === 1 ? name : `${name}-${n}`;
    if (!existsSync(join(folder, free))) return free;
  }
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
  { project_id, own }: ClosedLedger,
): Promise<void> {
  const tables = await server.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'libsql_%'",
  );
  if (tables.length === 0) return;
  const mark = await readMark(server);
  const holdsChain = tables.some(({ name }) => name === "audit");
  const isOwn = mark?.project_id === project_id &&
    (!holdsChain || await isBeginning(server, local, project_id)) &&
    !await isUsedByOthers(server, own.id);
  if (isOwn) return;
  const found = mark === null
    ? "tables that are no ledger"
    : mark.project_id === project_id
    ? `another ledger of "${project_id}", from ${mark.host}`
    : `the ledger of "${mark.project_id}", from ${mark.host}`;
  const next = mark?.project_id === project_id && mark.state === "home"
    ? "to use it together with that machine, run gate hub join --shared; else use an empty database"
    : 'use an empty one, or write {project} into "storage.url" for one database each';
  const message =
    `Cannot move the ledger of "${project_id}": the database on ${server.path} holds ` +
    found;
  throw new GateError("conflict", message, { next });
}

async function isUsedByOthers(server: ServerDatabase, own: string): Promise<boolean> {
  if (!await hasMachines(server)) return false;
  return (await listMachines(server)).some(({ id, is_connected }) => is_connected && id !== own);
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

function removeDatabase(path: string): void {
  for (const part of DATABASE_PARTS) rmSync(path + part, { force: true });
}
