import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Database } from "./database.ts";

/** Above this a check at every start would hold the event loop too long; `verify` checks it all. */
const QUICK_CHECK_BYTES = 16 * 1024 * 1024;

/** Reads the whole of a small database once. @throws an error that `isDamage` knows */
export async function checkHealth(database: Database): Promise<void> {
  await database.all("SELECT count(*) FROM sqlite_schema");
  if (statSync(database.path).size > QUICK_CHECK_BYTES) return;
  const rows = await database.all("PRAGMA quick_check(1)");
  const verdict = String(Object.values(rows[0] ?? {})[0] ?? "");
  if (verdict !== "ok") throw new DamageError(database.path, verdict);
}

/** A database that opens, but whose pages do not fit together. */
export class DamageError extends Error {
  readonly code = "SQLITE_CORRUPT";

  constructor(path: string, verdict: string) {
    super(`"${path}" is damaged: ${verdict}`);
    this.name = "DamageError";
  }
}

/** Renames a damaged database with its log, and returns the name it has now. */
export function moveAside(path: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
  let target = `${path}.corrupt-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.corrupt-${stamp}-${n}`;
  for (const suffix of ["-wal", "-shm", ""]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, target + suffix);
  }
  return target;
}

/** The damaged databases that stand beside `path` and wait for a person. */
export function listDamaged(path: string): string[] {
  const folder = dirname(path);
  if (!existsSync(folder)) return [];
  const prefix = `${basename(path)}.corrupt-`;
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && !/-(wal|shm)$/.test(name))
    .map((name) => join(folder, name));
}
