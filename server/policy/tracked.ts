import { absolutePath } from "./interpret/state.ts";

/** A repository of git and the names that it tracks. */
export interface Repository {
  /** The top folder of its working files. */
  root: string;
  /** Paths relative to the root; null if they cannot be known. The same names are the same array. */
  files: readonly string[] | null;
  /** Folders whose files are not listed. */
  folders: readonly string[];
  /** Folders of submodules. */
  modules: readonly string[];
  /** The names in all commits. The array only grows; `reading` if they are not all known yet. */
  history: () => { names: readonly string[]; state: "reading" | "known" | "unknown" };
}

/** What policy needs to know of a link in a folder of git, or of a list of further folders. */
export interface GitLink {
  /** A link in the folder, or the list of further folders with objects. */
  path: string;
  /** The real place that it leads to. */
  target: string;
}

/** The ways from a folder of git to other places. */
export interface GitLinks {
  /** Git reads and writes through these. */
  links: readonly GitLink[];
  /** Git only reads objects there. */
  objects: readonly GitLink[];
}

/** Which of the files that git tracks a command shows, copies or sends. */
export interface Tracked {
  /** It shows only these; empty for every file. */
  only: readonly Place[];
  /** It leaves these out. */
  skips: readonly Place[];
  /** It also shows the files of submodules. */
  modules: boolean;
  /** It shows files of commits, not only those of the index. */
  history: boolean;
  /** It shows objects that no name describes, so a person decides. */
  unnamed: boolean;
  /** How to show less; `{all}` is a pathspec of everything, `{excludes}` are those of what to leave out. */
  advice: string;
}

/** A file or folder as git is told about it. */
export interface Place {
  path: string;
  /** The path starts at the top of the repository, not in the folder of the command. */
  top: boolean;
  /** `exact` is one file, `below` also what is below it, `begins` each path with these first letters. */
  reach: "exact" | "below" | "begins";
}

/** Every file of the repository. */
export const WHOLE: Tracked = {
  only: [],
  skips: [],
  modules: false,
  history: true,
  unnamed: false,
  advice: "",
};

/** The place that a pathspec names for certain; null for any other pathspec. */
export function placeOf(pathspec: string): (Place & { excludes: boolean }) | null {
  const read = readPathspec(pathspec);
  if (read === null || !read.words.every((word) => /^(top|exclude|literal)$/.test(word))) {
    return null;
  }
  const { words, path } = read;
  const place = {
    path,
    top: words.includes("top"),
    reach: "below" as const,
    excludes: words.includes("exclude"),
  };
  const glob = words.includes("literal") ? -1 : path.search(/[*?[\\]/);
  if (glob < 0) return place.excludes && path === "" ? null : place;
  const known = path.slice(0, glob);
  // A shell may find `..` for a glob that starts with a dot.
  if (place.excludes || /(^|\/)\.[^/]*$/.test(known)) return null;
  return { ...place, path: known, reach: "begins" };
}

/** Whether a pathspec takes files away: `:!name`, `:^name`, `:(exclude)name`. */
export function isExclusion(pathspec: string): boolean {
  return /^:([!^]|\([a-z,]*exclude)/.test(pathspec);
}

/** The words of magic in a pathspec, and its path; null for forms that gate does not know. */
function readPathspec(text: string): { words: string[]; path: string } | null {
  if (!text.startsWith(":")) return { words: [], path: text };
  const long = /^:\(([a-z]+(?:,[a-z]+)*)\)(.*)$/s.exec(text);
  if (long) return { words: long[1]!.split(","), path: long[2]! };
  const short = /^:([!^]?)(\/?)((?![:(])[\w.].*)?$/s.exec(text);
  if (!short || text === ":") return null;
  const [, exclude, top, path = ""] = short;
  return { words: [...exclude ? ["exclude"] : [], ...top ? ["top"] : []], path };
}

/** The path of a place from the top of the repository; null outside it. */
export function fromTop({ path, top }: Place, folder: string, root: string): string | null {
  const full = absolutePath(path === "" ? "." : path, top ? root : folder);
  if (full === root) return "";
  return full.startsWith(`${root}/`) ? full.slice(root.length + 1) : null;
}

/** A test of paths from the top: whether the command may show the file, or files below the folder. */
export function testOf(
  { only, skips }: Tracked,
  folder: string,
  root: string,
): (path: string) => boolean {
  const from = (place: Place) => fromTop(place, folder, root);
  const shown = only.filter(({ reach }) => reach !== "exact")
    .map((place) => ({ path: from(place), begins: place.reach === "begins" }));
  // Git refuses a path outside the repository, or reads it in another way.
  const all = only.length === 0 || shown.some(({ path }) => path === null || path === "");
  const skipped = skips.map(from).filter((path) => path !== null);
  return (path) => {
    if (skipped.some((skip) => isWithin(path, skip))) return false;
    return all || shown.some((one) =>
      isWithin(path, one.path!) || isWithin(one.path!, path) ||
      (one.begins && (path.startsWith(one.path!) || one.path!.startsWith(`${path}/`)))
    );
  };
}

/** Whether a path is a folder or below it; every path is below "". */
export function isWithin(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** The pathspecs that leave these paths out, quoted for a shell. */
export function excludesOf(paths: readonly string[], folder: string, root: string): string {
  return paths.map((path) => {
    const words = [
      "exclude",
      ...folder === root ? [] : ["top"],
      .../[*?[\\]/.test(path) ? ["literal"] : [],
    ];
    return `':(${words.join(",")})${path.replaceAll("'", "'\\''")}'`;
  }).join(" ");
}
