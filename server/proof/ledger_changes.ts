import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../db/chain.ts";
import { Database } from "../db/database.ts";
import { canonical } from "../evidence/canonical.ts";
import type { ProofChange } from "./schema.ts";
import { listLedgerChanges } from "./store.ts";

/** The changes of the proof in the audit log of one ledger, oldest first. */
export interface LedgerChanges {
  project_id: string;
  changes: unknown[];
}

/** The place of SQLite's `user_version` in a file. */
const MARK_OFFSET = 60;

/**
 * The number that a ledger's header has after this change: one read of four bytes shows whether the
 * ledger holds an unknown change. Never 0, which a ledger without a change has.
 */
export function markOf(change: ProofChange): number {
  return parseInt(sha256(canonical(change)).slice(0, 8), 16) >>> 1 || 1;
}

/**
 * Reads the changes of the proof from each ledger of this home that may hold an unknown one: those
 * whose mark is unknown, and those with a write-ahead log of a daemon that crashed.
 */
export async function* readLedgerChanges(
  home: string,
  known: { projects: ReadonlyMap<string, unknown>; marks: ReadonlySet<number> },
  onUnreadable: (project_id: string, cause: string) => void = () => {},
): AsyncGenerator<LedgerChanges> {
  const folder = join(home, "projects");
  for (const project_id of existsSync(folder) ? readdirSync(folder).toSorted() : []) {
    const path = join(folder, project_id, "ledger.db");
    if (known.projects.has(project_id) || isKnown(path, known.marks)) continue;
    const changes = await readChanges(path, project_id, onUnreadable);
    if (changes.length > 0) yield { project_id, changes };
  }
}

function isKnown(path: string, marks: ReadonlySet<number>): boolean {
  try {
    const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
    const mark = log && log.size > 0 ? null : readMark(path);
    return mark === 0 || (mark !== null && marks.has(mark));
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "");
  }
}

/** 0 for a file without a header. */
function readMark(path: string): number {
  const file = openSync(path, "r");
  try {
    const mark = Buffer.alloc(4);
    return readSync(file, mark, 0, 4, MARK_OFFSET) < 4 ? 0 : mark.readInt32BE();
  } finally {
    closeSync(file);
  }
}

/** Empty for a ledger that cannot be read: it is compared when its project opens. */
async function readChanges(
  path: string,
  project_id: string,
  onUnreadable: (project_id: string, cause: string) => void,
): Promise<unknown[]> {
  try {
    const database = await Database.open(path, { busy_limit_ms: 1_000 });
    try {
      return await listLedgerChanges(database, project_id);
    } finally {
      await database.close();
    }
  } catch (error) {
    onUnreadable(project_id, error instanceof Error ? error.message : String(error));
    return [];
  }
}
