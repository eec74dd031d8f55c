import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Difference } from "./snapshot.ts";

/** A guarded file that was changed without permission, for the ledger and for people. */
export interface Restored {
  path: string;
  change: Difference["change"];
  before_sha256: string | null;
  after_sha256: string | null;
  /** Whether the file is again as it was. */
  restored: boolean;
  /** The file that was found, kept for a person; null if there was none. */
  quarantine: string | null;
  /** A command in the sandbox created it against a rule; nothing was changed that existed before. */
  walled?: true;
}

/**
 * Puts a guarded file back as it was, and keeps what was found in `folder`. Never throws: a file that
 * cannot be restored is reported as such.
 */
export function restore({ path, change, before, now }: Difference, folder: string): Restored {
  const report = {
    path,
    change,
    before_sha256: before?.sha256 ?? null,
    after_sha256: now?.sha256 ?? null,
  };
  let quarantine: string | null = null;
  try {
    if (change === "rewritten") return { ...report, restored: true, quarantine };
    const isKept = before === null || before.kind === "folder" || before.target !== null ||
      before.content !== null;
    // Without the old bytes a file stays as it is, unless it is a new one.
    if (!isKept) return { ...report, restored: false, quarantine };
    if (lstatSync(path, { throwIfNoEntry: false })) quarantine = moveAway(path, folder);
    if (before?.kind === "folder") mkdirSync(path, { recursive: true });
    else if (before?.target != null) symlinkSync(before.target, path);
    else if (before?.content) write(path, before.content, before.mode);
    return { ...report, restored: true, quarantine };
  } catch {
    return { ...report, restored: false, quarantine };
  }
}

/** Moves a file or folder into the quarantine and returns its new path. */
function moveAway(path: string, folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const kept = join(folder, `${crypto.randomUUID().slice(0, 8)}-${basename(path)}`);
  try {
    renameSync(path, kept);
  } catch {
    // Another file system: copied without following links.
    cpSync(path, kept, { recursive: true, verbatimSymlinks: true });
    rmSync(path, { recursive: true });
  }
  return kept;
}

function write(path: string, content: Uint8Array, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.gate-${crypto.randomUUID()}`);
  writeFileSync(temporary, content, { flag: "wx", mode });
  chmodSync(temporary, mode);
  renameSync(temporary, path);
}
