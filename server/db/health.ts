import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Database } from "./database.ts";
import { isUtf8, SCHEMA_TEXTS, TEXT_COLUMNS, textQueries } from "./texts.ts";

/** Above this a check at every start would hold the event loop too long; `verify` checks it all. */
const QUICK_CHECK_BYTES = 16 * 1024 * 1024;

/** Reads the whole of a small database once. @throws an error that `isDamage` knows */
export async function checkHealth(database: Database): Promise<void> {
  const schema = await database.all(SCHEMA_TEXTS);
  if (!schema.every(({ texts }) => isUtf8(texts!))) {
    throw new DamageError(database.path, "a name in it is no text");
  }
  if (statSync(database.path).size > QUICK_CHECK_BYTES) return;
  // As bytes, because a damaged name would be in it.
  const checked = "SELECT CAST(quick_check AS BLOB) AS verdict FROM pragma_quick_check(1)";
  const [row] = await database.all(checked);
  const verdict = row ? new TextDecoder().decode(row.verdict as Uint8Array) : "it says nothing";
  if (verdict !== "ok") throw new DamageError(database.path, verdict);
  await checkTexts(database);
}

/** The chain is left to its own check, which tells of each event. */
async function checkTexts(database: Database): Promise<void> {
  for (const { table, sql } of textQueries(await database.all(TEXT_COLUMNS))) {
    if (table === "audit") continue;
    await setImmediate();
    const rows = await database.all(sql);
    if (rows.every(({ texts }) => isUtf8(texts!))) continue;
    throw new DamageError(database.path, `a text in "${table}" is no text`);
  }
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
