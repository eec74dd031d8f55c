import { LRUCache } from "lru-cache";
import { dirname, join } from "node:path";
import { readSmallFile } from "../runtime/small_file.ts";
import { fingerprint } from "./load.ts";

const MAX_BYTES = 1_048_576;
const known = new LRUCache<string, { key: string; scripts: Record<string, unknown> }>({ max: 64 });

/** The text of a task in the nearest `package.json` at or above a folder, inside the project. */
export function taskScript(name: string, cwd: string, roots: readonly string[]): string | null {
  const inside = roots.some((root) => cwd === root || cwd.startsWith(`${root}/`));
  if (!inside || cwd.includes("\0")) return null;
  for (let folder = cwd;; folder = dirname(folder)) {
    const scripts = scriptsOf(join(folder, "package.json"));
    if (scripts) {
      const text = Object.hasOwn(scripts, name) ? scripts[name] : null;
      return typeof text === "string" ? text : null;
    }
    if (roots.includes(folder) || dirname(folder) === folder) return null;
  }
}

/** The tasks of a file; none when it is unreadable, null when it is missing. */
function scriptsOf(path: string): Record<string, unknown> | null {
  const key = fingerprint(path);
  if (key === "absent") return null;
  const cached = known.get(path);
  if (cached?.key === key) return cached.scripts;
  const scripts = readScripts(path);
  known.set(path, { key, scripts });
  return scripts;
}

function readScripts(path: string): Record<string, unknown> {
  try {
    const { scripts } = JSON.parse(readSmallFile(path, MAX_BYTES)) as { scripts?: unknown };
    return typeof scripts === "object" && scripts !== null
      ? scripts as Record<string, unknown>
      : {};
  } catch {
    return {};
  }
}
