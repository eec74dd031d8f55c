import { dirname } from "node:path";
import type { NamedPaths } from "../policy/named_paths.ts";
import { HOLE } from "../policy/holes.ts";
import { folderIdentity, resolvePath } from "../runtime/real_path.ts";

/** A registered project, as far as a search for its files needs it. */
export interface Neighbourhood {
  id: string;
  roots: readonly string[];
}

/** More projects than this are found by their paths only, not by device and inode. */
const MAX_COMPARED = 200;

/**
 * The ids of the other projects in whose folders a path lies, under whatever name. `own` are the
 * folders of the action's project.
 */
export function touchedProjects(
  { paths, deletes, words }: NamedPaths,
  others: readonly Neighbourhood[],
  own: readonly string[] = [],
): string[] {
  const owners = new Owners(others, own);
  if (owners.isEmpty) return [];
  for (const path of paths) owners.look(path);
  for (const path of deletes) owners.lookBelow(path);
  for (const word of words) owners.search(word);
  return [...owners.found];
}

class Owners {
  readonly found = new Set<string>();
  readonly #byRoot = new Map<string, string>();
  /** The roots by device and inode, for a folder that is mounted under another name. */
  #byIdentity: Map<string, string> | null = null;
  readonly #known = new Map<string, string | null>();

  readonly #own: readonly string[];

  constructor(others: readonly Neighbourhood[], own: readonly string[]) {
    this.#own = own;
    for (const { id, roots } of others) for (const root of roots) this.#byRoot.set(root, id);
  }

  get isEmpty(): boolean {
    return this.#byRoot.size === 0;
  }

  look(path: string): void {
    if (path.includes("\0")) return;
    if (HOLE.test(path)) return this.#match(path);
    for (const name of namesOf(path)) this.#note(this.#ownerOf(name));
  }

  /** A deleted folder takes the projects below it with it. */
  lookBelow(path: string): void {
    if (path.includes("\0") || HOLE.test(path)) return;
    for (const name of namesOf(path)) {
      for (const [root, id] of this.#byRoot) if (isBelow(root, name)) this.found.add(id);
    }
  }

  /** A root in the middle of a word, such as in the text of an inline script. */
  search(word: string): void {
    if (!word.includes("/")) return;
    for (const [root, id] of this.#byRoot) if (word.includes(root)) this.found.add(id);
  }

  /** A path with unknown parts touches each project that it may lead into. */
  #match(path: string): void {
    const names = path.split("/");
    for (const [root, id] of this.#byRoot) {
      const folders = root.split("/");
      const deep = names.findIndex((name) => VAGUE.test(name));
      const compared = deep < 0 ? names : names.slice(0, deep);
      if (deep < 0 && names.length < folders.length) continue;
      const fits = compared.slice(0, folders.length).every((name, i) => fit(name, folders[i]!));
      if (fits) this.found.add(id);
    }
  }

  #ownerOf(path: string): string | null {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const up = dirname(path);
    const here = this.#byRoot.get(path) ?? this.#mounted(path);
    const owner = here ?? (up === path ? null : this.#ownerOf(up));
    this.#known.set(path, owner);
    return owner;
  }

  #mounted(folder: string): string | null {
    const isOwn = this.#own.some((root) => folder === root || isBelow(folder, root));
    if (isOwn || this.#byRoot.size > MAX_COMPARED) return null;
    if (this.#byIdentity === null) {
      this.#byIdentity = new Map();
      for (const [root, id] of this.#byRoot) {
        const identity = folderIdentity(root);
        if (identity !== null) this.#byIdentity.set(identity, id);
      }
    }
    const identity = folderIdentity(folder);
    return identity === null ? null : this.#byIdentity.get(identity) ?? null;
  }

  #note(id: string | null): void {
    if (id !== null) this.found.add(id);
  }
}

const VAGUE = /[\uFDD0\uFDD1\uFDD3]/;

/** Whether a name with holes may be this name. */
function fit(pattern: string, name: string): boolean {
  if (!HOLE.test(pattern)) return pattern === name;
  const [first = "", ...rest] = pattern.split(new RegExp(HOLE.source, "g"));
  const last = rest.at(-1) ?? "";
  return name.length >= first.length + last.length && name.startsWith(first) && name.endsWith(last);
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** The path as written and where it leads; only as written if the disk gives no answer. */
function namesOf(path: string): string[] {
  try {
    const { lexical, real } = resolvePath(path);
    return lexical === real ? [real] : [lexical, real];
  } catch {
    return [path];
  }
}
