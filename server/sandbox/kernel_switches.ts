import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LRUCache } from "lru-cache";

/** A kernel gets new switches with a module, which no sandboxed command can load. */
const KEPT_MS = 60_000;
const KEPT = new LRUCache<string, string[]>({ max: 4, ttl: KEPT_MS });

/** Processes, and what no owner of a file changes there. */
const OTHERS = new Set([
  // bubblewrap keeps these four read-only itself, or the walls do.
  ...["sys", "irq", "bus", "sysrq-trigger"],
  // The kernel asks for a capability of the machine, or lets every user write.
  ...["mtrr", "pressure"],
]);

/** Folders below `/proc` are flat; a larger one counts as a switch. */
const MOST_ENTRIES = 2_000;
const MOST_FOLDERS_DEEP = 4;

/**
 * The entries of `/proc` with a file that its owner may write. They belong to root, so they would be
 * open to a sandboxed command of root: the kernel looks at the owner alone, and at no capability.
 */
export function kernelSwitches(proc = "/proc"): string[] {
  const known = KEPT.get(proc);
  if (known) return known;
  const found = readdirSync(proc, { withFileTypes: true })
    .filter(({ name }) => !/^\d+$/.test(name) && !OTHERS.has(name))
    .filter((entry) => holdsSwitch(entry, proc, { entries: 0 }))
    .map(({ name }) => join(proc, name)).sort();
  KEPT.set(proc, found);
  return found;
}

function holdsSwitch(entry: Dirent, folder: string, seen: { entries: number }, deep = 1): boolean {
  const path = join(folder, entry.name);
  if (++seen.entries > MOST_ENTRIES || deep > MOST_FOLDERS_DEEP) return true;
  if (entry.isFile()) {
    return ((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o200) !== 0;
  }
  if (!entry.isDirectory()) return false;
  return entriesOf(path).some((one) => holdsSwitch(one, path, seen, deep + 1));
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // it is gone, or closed to root itself
  }
}
