import { dirname, join } from "node:path";
import { readSmallFile } from "../runtime/small_file.ts";
import { fingerprint } from "./load.ts";

const MAX_BYTES = 1_048_576;
const MAX_FILES = 64;
const known = new Map<string, { key: string; scripts: Record<string, unknown> }>();

/** The text of a task in the nearest `package.json` at or above a folder, within the project. */
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

/** Null without the file; a file that cannot be read has no tasks. */
function scriptsOf(path: string): Record<string, unknown> | null {
  const key = fingerprint(path);
  if (key === "absent") return null;
  const cached = known.get(path);
  if (cached?.key === key) return cached.scripts;
  const scripts = readScripts(path);
  if (known.size >= MAX_FILES) known.clear();
  known.set(path, { key, scripts });
  return scripts;
}

function readScripts(path: string): Record<string, unknown> {
  try {
    const read = JSON.parse(readSmallFile(path, MAX_BYTES)) as { scripts?: unknown };
    const { scripts } = read;
    return typeof scripts === "object" && scripts !== null
      ? scripts as Record<string, unknown>
      : {};
  } catch {
    return {};
  }
}
