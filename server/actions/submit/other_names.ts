import { statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { type LinkedFile, linkedFile } from "../../runtime/linked_file.ts";
import type { Access } from "../plan.ts";

/** A finding about a file that has several names. */
export interface OtherName {
  effect: "ask" | "deny";
  reason: string;
}

/** Files below such folders have many names by design: package stores, git's objects, the system. */
const STORES =
  /\/(?:node_modules|\.pnpm|\.git\/objects|\.yarn|\.cache)\/|^\/(?:usr|bin|sbin|lib|lib64|opt|nix|snap|System|Library)\//;

/** An action with more accesses asks. */
const MAX_COMPARED = 2_000;

/**
 * Evaluates accesses to files with several hard links: a rule that blocks one name of a file blocks
 * its other names too, and an unexplained other name asks. So does a pattern or a folder, which may
 * hold another name of a file that the project's own rules block. Null for files with one name.
 */
export async function judgeOtherNames(
  { accesses, open }: {
    accesses: readonly { access: Access["access"]; path: string }[];
    open: readonly string[];
  },
  own: Pick<Config, "inForce">,
  configs: () => Promise<readonly Pick<Config, "inForce">[]>,
): Promise<OtherName | null> {
  let blocked: Map<string, string> | null = null;
  let worst: OtherName | null = accesses.length > MAX_COMPARED
    ? { effect: "ask", reason: "it names too many files to tell whether they have other names" }
    : null;
  for (const { access, path } of accesses.slice(0, MAX_COMPARED)) {
    const file = linkedFile(path);
    if (file === null) continue;
    blocked ??= await listBlocked(await configs());
    const other = blocked.get(keyOf(file));
    if (other !== undefined && other !== path) {
      const reason = `"${path}" is another name of "${other}", which a rule blocks`;
      return { effect: "deny", reason };
    }
    // Deleting a name leaves the file under its others, but a move takes the name away.
    if (access === "delete" || (access === "read" && STORES.test(path))) continue;
    worst ??= {
      effect: "ask",
      reason: `"${path}" has other names (hard links), so a rule about one of them may apply`,
    };
  }
  if (worst !== null) return worst;
  // A program may read everything below a folder, as `grep -r` does.
  const vague = open[0] ??
    accesses.find(({ access, path }) => access === "read" && isFolder(path))?.path;
  if (vague === undefined) return null;
  const [first] = (blocked ?? await listBlocked([own])).values();
  return first === undefined ? null : {
    effect: "ask",
    reason: `"${first}" has other names (hard links), and "${vague}" may hold one of them`,
  };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false; // nothing could be read below it either
  }
}

/** The existing files that a rule blocks by name, by device and inode. */
async function listBlocked(
  configs: readonly Pick<Config, "inForce">[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const config of configs) {
    const { compiled, around } = await config.inForce();
    for (const { list, pattern } of compiled.rules) {
      if (list !== "blockedPaths" || /[*?[\]{}!]/.test(pattern)) continue;
      for (const path of targetsOf(pattern, around.roots, around.user_home)) {
        const file = linkedFile(path);
        if (file !== null) found.set(keyOf(file), path);
      }
    }
  }
  return found;
}

function targetsOf(pattern: string, roots: readonly string[], home: string): string[] {
  if (pattern.startsWith("~/")) return [join(home, pattern.slice(2))];
  if (pattern.startsWith("/")) return [pattern];
  return roots.map((root) => join(root, pattern));
}

function keyOf({ dev, ino }: LinkedFile): string {
  return `${dev}:${ino}`;
}
