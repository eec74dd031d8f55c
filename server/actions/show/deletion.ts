import { lstatSync, opendirSync, type Stats } from "node:fs";
import { isAbsolute, join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import type { ActionDetail } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { shownPath } from "../submit/target.ts";

type Deletion = NonNullable<ActionDetail["deletion"]>;

/** The most names that are listed for one card. */
const MOST_LISTED = 20_000;
/** The most paths that a card names. */
const MOST_NAMED = 200;
/** Yields to the event loop after this many names. */
const PAUSE_EVERY = 200;

/**
 * The files that a held command would delete, as they exist now; null if it deletes none. A link
 * counts as one file, because only the link is deleted.
 */
export async function deletionOf(
  { status, analysis, cwd, root }: Pick<ActionRow, "status" | "analysis" | "cwd" | "root">,
): Promise<Deletion | null> {
  if (status !== "pending" || !analysis || analysis.deletes.length === 0) return null;
  const places = new Set(
    analysis.deletes.map((path) => isAbsolute(path) ? path : join(cwd ?? root, path)),
  );
  const counter = new Counter(root);
  for (const place of places) await counter.add(place);
  const { files, folders } = counter.deletion;
  return files + folders.length === 0 ? null : counter.deletion;
}

class Counter {
  readonly deletion: Deletion = {
    ...{ files: 0, bytes: 0, folders: [], paths: [], is_whole: true },
  };
  readonly #root: string;
  readonly #seen = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Adds the file, or everything below the folder. A path that does not exist adds nothing. */
  async add(path: string): Promise<void> {
    if (this.#note(path)) this.deletion.folders.push(shownPath(path, this.#root));
    const folders = [path];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const name of this.#namesIn(folder)) {
        const below = join(folder, name);
        if (this.#note(below)) folders.push(below);
        if (this.#seen.size % PAUSE_EVERY === 0) await pause();
      }
    }
  }

  /** Counts one path; true for a folder that was not counted before. */
  #note(path: string): boolean {
    if (this.#seen.has(path)) return false;
    this.#seen.add(path);
    const found = look(path);
    if (!found || found.isDirectory()) return found !== undefined;
    this.deletion.files += 1;
    this.deletion.bytes += found.isFile() ? found.size : 0;
    if (this.deletion.paths.length < MOST_NAMED) {
      this.deletion.paths.push(shownPath(path, this.#root));
    }
    return false;
  }

  /** The names in a folder, sorted; none for anything else. */
  #namesIn(folder: string): string[] {
    const names: string[] = [];
    if (!look(folder)?.isDirectory()) return names;
    try {
      const listing = opendirSync(folder);
      try {
        for (let entry = listing.readSync(); entry; entry = listing.readSync()) {
          if (this.#seen.size + names.length >= MOST_LISTED) {
            this.deletion.is_whole = false;
            break;
          }
          names.push(entry.name);
        }
      } finally {
        listing.closeSync();
      }
    } catch {
      // The daemon may not read the folder; the card says that the count is not whole.
      this.deletion.is_whole = false;
    }
    return names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  }
}

/** Undefined where nothing exists, and for a path that cannot be looked at. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
