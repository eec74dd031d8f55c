import { statSync } from "node:fs";
import { LRUCache } from "lru-cache";
import { dirname, isAbsolute, join } from "node:path";
import { readGitConfig } from "../../runtime/git_config.ts";
import { readSmallFile } from "../../runtime/small_file.ts";
import type { Place } from "./snapshot.ts";

const MAX_BYTES = 256 * 1024;
/** Git itself follows ten. */
const MAX_DEPTH = 10;
const MAX_FILES = 30;

/** The files that a config names, by the config's path and state. */
const READ = new LRUCache<string, Named>({ max: 200 });

interface Named {
  configs: string[];
  places: Place[];
}

/** The user's git configs, the configs that they include, and what they make git run. */
export function userGitPlaces(home: string): Place[] {
  const seen = new Set<string>();
  const places: Place[] = [{ path: join(home, ".config/git"), deep: true }];
  const open = [join(home, ".gitconfig"), join(home, ".config/git/config")]
    .map((path) => ({ path, depth: 0 }));
  for (let one = open.shift(); one && seen.size < MAX_FILES; one = open.shift()) {
    const { path, depth } = one;
    if (seen.has(path)) continue;
    seen.add(path);
    places.push({ path, deep: false });
    const named = namedBy(path, home);
    places.push(...named.places);
    if (depth < MAX_DEPTH) {
      open.push(...named.configs.map((at) => ({ path: at, depth: depth + 1 })));
    }
  }
  return places;
}

const CONFIGS = /^include(?:if\..*)?\.path$/;
const FOLDERS = /^(core\.hookspath|init\.templatedir)$/;
const FILES = /^core\.(attributesfile|excludesfile)$/;

function namedBy(path: string, home: string): Named {
  const nothing = { configs: [], places: [] };
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  if (!stats?.isFile()) return nothing;
  const key = `${path} ${stats.ino} ${stats.size} ${stats.ctimeNs}`;
  const known = READ.get(key);
  if (known) return known;
  const entries = entriesOf(path);
  const of = (keys: RegExp) =>
    entries.filter(([name]) => keys.test(name)).map(([, value]) => resolved(value, path, home))
      .filter((at) => at !== null).slice(0, MAX_FILES);
  const named = {
    configs: of(CONFIGS),
    places: [
      ...of(FOLDERS).map((at) => ({ path: at, deep: true })),
      ...of(FILES).map((at) => ({ path: at, deep: false })),
    ],
  };
  READ.set(key, named);
  return named;
}

/** The entries of a config; none of one that git would not read. */
function entriesOf(path: string): [key: string, value: string][] {
  try {
    return readGitConfig(readSmallFile(path, MAX_BYTES)) ?? [];
  } catch {
    return [];
  }
}

/** A path as git reads it in a config: `~/` is the home, others start from the config's folder. */
function resolved(value: string, config: string, home: string): string | null {
  const plain = value.replace(/^"(.*)"$/, "$1");
  if (plain === "" || plain.includes("\0")) return null;
  if (plain.startsWith("~/")) return join(home, plain.slice(2));
  return isAbsolute(plain) ? plain : join(dirname(config), plain);
}
