import { Buffer } from "node:buffer";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { openUp } from "../../runtime/closed_folder.ts";
import { type Folder, openFolder, withFolder } from "../../runtime/folder.ts";
import { resolvePath } from "../../runtime/real_path.ts";
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
 * Puts a guarded file back as it was, into the folder where it was, and keeps what was found in
 * `quarantine`: also a link that has taken the place of a folder above it. Without `follows` no folder
 * above a new file may be a link: a command that still runs could put one there, to a file elsewhere.
 * Never throws: a file that cannot be restored is reported as such.
 */
export function restore(
  { path, change, before, now }: Difference,
  quarantine: string,
  { follows }: { follows: boolean },
): Restored {
  const report = {
    path,
    change,
    before_sha256: before?.sha256 ?? null,
    after_sha256: now?.sha256 ?? null,
  };
  if (change === "rewritten") return { ...report, restored: true, quarantine: null };
  const isKept = before === null || before.kind === "folder" || before.target !== null ||
    before.content !== null;
  // Without the old bytes a file stays as it is, unless it is a new one.
  if (!isKept) return { ...report, restored: false, quarantine: null };
  let kept: string | null = null;
  try {
    const opened = openAbove({ path, before }, quarantine, follows);
    const { folder } = opened;
    kept = opened.kept;
    try {
      const name = basename(path);
      kept = moveAway(folder, name, quarantine) ?? kept;
      if (before?.kind === "folder") mkdirSync(folder.at(name));
      else if (before?.target != null) symlinkSync(before.target, folder.at(name));
      else if (before?.content) write(folder, name, { ...before, content: before.content });
    } finally {
      folder.close();
    }
    return { ...report, restored: true, quarantine: kept };
  } catch {
    // The hash of a file elsewhere is nothing that an agent may learn.
    return { ...report, after_sha256: null, restored: false, quarantine: kept };
  }
}

/** A command that still runs may put more of them there. */
const MOST_REPLACED = 8;

/** Opens the folder that holds the file. `kept` is a link that was moved away for it. */
function openAbove(
  { path, before }: Pick<Difference, "path" | "before">,
  quarantine: string,
  follows: boolean,
): { folder: Folder; kept: string | null } {
  const make = before !== null;
  if (before?.above == null) {
    const above = follows ? resolvePath(dirname(path)).real : dirname(path);
    return { folder: openFolder(above, { make }).folder, kept: null };
  }
  let kept: string | null = null;
  for (let attempt = 0;; attempt++) {
    try {
      return { folder: openFolder(before.above, { make }).folder, kept };
    } catch (error) {
      const replaced = whatReplaced(before.above);
      if (replaced === null || attempt >= MOST_REPLACED) throw error;
      kept = withFolder(
        dirname(replaced),
        (folder) => moveAway(folder, basename(replaced), quarantine),
      );
    }
  }
}

/** The outermost of these folders, all real when the state was kept, that is no folder any more. */
function whatReplaced(path: string): string | null {
  const above = dirname(path) === path ? null : whatReplaced(dirname(path));
  if (above !== null) return above;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && !found.isDirectory() ? path : null;
}

/** Moves a file or folder into the quarantine and returns its new path; null if it is gone. */
function moveAway(folder: Folder, name: string, quarantine: string): string | null {
  const path = folder.at(name);
  if (!lstatSync(path, { throwIfNoEntry: false })) return null;
  const kept = placeIn(quarantine, name);
  try {
    renameSync(path, kept);
    return kept;
  } catch {
    // Another file system, or a command has closed the folders.
  }
  openUp(folder.path);
  openBelow(join(folder.path, name));
  try {
    moveOpened(path, kept);
    return kept;
  } catch {
    // Under another name no program loads it.
    const here = `${name}.gate-${crypto.randomUUID().slice(0, 8)}`;
    renameSync(path, folder.at(here));
    return join(folder.path, here);
  }
}

function placeIn(quarantine: string, name: string): string {
  mkdirSync(quarantine, { recursive: true, mode: 0o700 });
  return join(quarantine, `${crypto.randomUUID().slice(0, 8)}-${name}`);
}

function moveOpened(path: string, kept: string): void {
  try {
    renameSync(path, kept);
  } catch {
    // Another file system: copied without following links. A pipe has nothing that could be kept.
    cpSync(path, kept, { recursive: true, verbatimSymlinks: true, filter: canKeep });
    rmSync(path, { recursive: true });
  }
}

function canKeep(path: string): boolean {
  const stats = lstatSync(path);
  return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
}

/** Opens a folder and those in it; other users' folders stay as they are. */
function openBelow(path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory() || !openUp(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) openBelow(join(path, entry.name));
  }
}

/**
 * Moves everything into the quarantine whose name is no text and reads like that of this path. Returns
 * the new path of the last one; null if there is none, or if the runtime does not tell such names.
 */
export function moveUnnamed(path: string, quarantine: string): string | null {
  try {
    return withFolder(dirname(path), (folder) => {
      const names = readdirSync(folder.at(""), { encoding: "buffer" }).filter((name) => {
        const text = name.toString("utf8");
        return text === basename(path) && !Buffer.from(text).equals(name);
      });
      let kept: string | null = null;
      for (const name of names) {
        const named = `unnamed-${crypto.randomUUID().slice(0, 8)}`;
        renameSync(Buffer.concat([Buffer.from(folder.at("")), name]), folder.at(named));
        kept = moveAway(folder, named, quarantine) ?? kept;
      }
      return kept;
    });
  } catch {
    return null; // it is gone
  }
}

function write(
  folder: Folder,
  name: string,
  { content, mode }: { content: Uint8Array; mode: number },
): void {
  const temporary = folder.at(`.gate-${crypto.randomUUID()}`);
  writeFileSync(temporary, content, { flag: "wx", mode });
  chmodSync(temporary, mode);
  renameSync(temporary, folder.at(name));
}
