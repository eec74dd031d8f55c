import Sqlite from "libsql";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GateError } from "../errors.ts";
import { explain } from "./database.ts";

/** Held while this process owns the databases of a folder. */
export interface OwnerLock {
  /** True if the last owner ended without a release: it was killed, or it crashed. */
  was_left: boolean;
  release(): void;
}

/**
 * Locks the folder for this process by an exclusive transaction on its `owner.db`; the kernel frees
 * it when the process ends. @throws GateError `unavailable`, which names the owner if it is known
 */
export function takeOwnership(folder: string, pid: number): OwnerLock {
  const pidFile = join(folder, "owner.pid");
  const lock = lockExclusively(folder, pidFile);
  const was_left = existsSync(pidFile);
  try {
    writeFileSync(pidFile, `${pid}\n`, { mode: 0o600 });
  } catch (cause) {
    lock.close();
    throw explain(cause, pidFile);
  }
  let isHeld = true;
  return {
    was_left,
    release() {
      // Only once: after that the file may belong to another owner.
      if (!isHeld) return;
      isHeld = false;
      rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}

function lockExclusively(folder: string, pidFile: string): Sqlite.Database {
  const path = join(folder, "owner.db");
  let lock: Sqlite.Database | null = null;
  try {
    // No other code may open owner.db: closing any descriptor of it would free the lock.
    lock = new Sqlite(path);
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (cause) {
    lock?.close();
    if ((cause as { code?: string }).code !== "SQLITE_BUSY") throw explain(cause, path);
    throw takenError(folder, readPid(pidFile), cause);
  }
}

function takenError(folder: string, pid: number | null, cause: unknown): GateError {
  const owner = pid === null ? "another process" : `process ${pid}`;
  const message = `Cannot open "${folder}": ${owner} owns it; stop it (gate daemon stop) ` +
    "or use it through its port";
  return new GateError("unavailable", message, { cause, fields: { owner_pid: pid } });
}

function readPid(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, "utf8").trim());
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}
