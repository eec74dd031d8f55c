import { statSync } from "node:fs";
import { LRUCache } from "lru-cache";
import { isAbsolute, join } from "node:path";
import { readSmallFile } from "../../runtime/small_file.ts";
import type { Place } from "./snapshot.ts";

const MAX_BYTES = 1024 * 1024;
const MAX_PLUGINS = 30;
const MAX_NAMES = 200;
/** Files that the host and running plugins write beside the code. */
const LEFT_BEHIND = /^(__pycache__|node_modules|\.git|\.DS_Store|\.orphaned_at|\.in_use)$/;

const READ = new LRUCache<string, Place[]>({ max: 20 });

/**
 * The folders of the plugins that Claude Code has installed. It copies each version once and loads
 * only those that its list names, so other versions may come and go.
 */
export function installedPlugins(home: string): Place[] {
  const list = join(home, ".claude/plugins/installed_plugins.json");
  const stats = statSync(list, { throwIfNoEntry: false, bigint: true });
  if (!stats?.isFile()) return [];
  const key = `${list} ${stats.ino} ${stats.size} ${stats.ctimeNs}`;
  const known = READ.get(key) ?? foldersIn(list).map((path) => (
    { path, deep: true, skip: LEFT_BEHIND, most: MAX_NAMES }
  ));
  READ.set(key, known);
  return known;
}

function foldersIn(list: string): string[] {
  const found = new Set<string>();
  try {
    JSON.parse(readSmallFile(list, MAX_BYTES), (key, value) => {
      if (key === "installPath" && typeof value === "string" && isAbsolute(value)) found.add(value);
      return value;
    });
  } catch {
    return []; // the host cannot read it either
  }
  return [...found].filter((path) => !path.includes("\0")).slice(0, MAX_PLUGINS);
}
