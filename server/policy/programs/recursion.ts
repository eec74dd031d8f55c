import { baseNameOf, type Below, EVERYTHING, nameOf, pathOf, type Pattern } from "../below.ts";
import { DEEP, isStatic, isWild, QUESTION, STAR } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import { has, type Parsed, valuesOf } from "./options.ts";

/** Which files below its operands a program reads with these options; null if it reads none. */
export type Reach = (parsed: Parsed) => Below | null;

const EXCLUDE = { file: "--exclude={name}", folder: "--exclude={name}" };

/** `grep -r`: the last of `--include` and `--exclude` that matches a name decides. */
export const grepReach: Reach = (parsed) => {
  const follows = has(parsed, "R", "dereference-recursive");
  const reads = follows || has(parsed, "r", "recursive") ||
    valuesOf(parsed, "d", "directories").includes("recurse");
  if (!reads) return null;
  const { options } = parsed;
  const lastOnly = options.findLastIndex(({ name }) => name === "include");
  const firstSkip = options.findIndex(({ name }) => name === "exclude");
  const skips = options.flatMap(({ name, value }, at) => {
    if (name === "exclude-dir") return [baseNameOf(value ?? "", "folder")];
    return name === "exclude" && at > lastOnly ? [baseNameOf(value ?? "", "file")] : [];
  });
  const isOpen = firstSkip >= 0 && firstSkip < lastOnly;
  // A name that the shell puts in the place of `--include=*.ts` fits that glob as well.
  const plain = (glob: string) =>
    parsed.raw.has(`--include=${glob}`)
      ? glob.replaceAll(STAR, "*").replaceAll(QUESTION, "?")
      : glob;
  const only = isOpen
    ? []
    : valuesOf(parsed, "include").map((glob) => baseNameOf(plain(glob), "file"));
  return {
    ...reach(skips, only),
    links: follows,
    vague: isOpen || only.includes(null) || skips.includes(null) || has(parsed, "exclude-from"),
    leave_out: { file: "--exclude={name}", folder: "--exclude-dir={name}" },
  };
};

/** `rg`: hidden and ignored files only with an option; the last glob that matches decides. */
export const ripgrepReach: Reach = (parsed) => {
  if (has(parsed, "files", "type-list", "version", "V", "help", "h")) return null;
  const globs = valuesOf(parsed, "glob");
  const given = [...parsed.raw].some((word) => word === "-g" || word.startsWith("--glob"));
  const lastOnly = globs.findLastIndex((glob) => !glob.startsWith("!"));
  const only = globs.filter((glob) => !glob.startsWith("!")).map((glob) => nameOf(glob, "file"));
  const skips = globs.flatMap((glob, at) =>
    glob.startsWith("!") && at > lastOnly
      ? [nameOf(glob.slice(1)) ?? (isHere(parsed.operands.slice(1)) ? pathOf(glob.slice(1)) : null)]
      : []
  );
  const chosen = only.length > 0 || has(parsed, "iglob");
  const unrestricted = has(parsed, "unrestricted", "u");
  return {
    ...reach(skips, only),
    hidden: chosen || unrestricted || has(parsed, "hidden", ".", "ignore-file", "pre"),
    takes_back: true,
    tracked: !chosen && !unrestricted &&
      !parsed.options.some(({ name }) => name.startsWith("no-ignore") || name === "no-vcs-ignore"),
    links: has(parsed, "follow", "L"),
    depth: depthOf(valuesOf(parsed, "max-depth", "d")),
    vague: chosen || unrestricted || skips.includes(null) || (given && globs.length === 0) ||
      has(parsed, "type", "t", "type-not", "T", "ignore-file", "max-filesize"),
    leave_out: { file: "-g '!{name}'", folder: "-g '!{name}'" },
  };
};

/** `ag` and `ack`: as `rg`, and they leave out more. */
export const searchReach: Reach = (parsed) => {
  const all = has(parsed, "hidden", "u", "U", "a", "unrestricted", "skip-vcs-ignores");
  const skips = valuesOf(parsed, "ignore", "ignore-dir").map((glob) => baseNameOf(glob));
  return {
    ...reach(skips, []),
    tracked: !all,
    links: has(parsed, "f", "follow"),
    vague: true,
    leave_out: { file: "--ignore={name}", folder: "--ignore={name}" },
  };
};

/** Programs that copy what is below their operands, always or with these options. */
export function copyReach(...options: string[]): Reach {
  return (parsed) => {
    if (options.length > 0 && !has(parsed, ...options)) return null;
    return { ...EVERYTHING, links: has(parsed, "L", "follow-link", "copy-links") };
  };
}

/** Programs that serve or pack a whole folder. */
export const wholeReach: Reach = () => ({ ...EVERYTHING, links: true });

/** `rsync`: excluded names; with further filters it may read less. */
export const rsyncReach: Reach = (parsed) => {
  if (!has(parsed, "a", "archive", "r", "recursive")) return null;
  const filters = has(
    parsed,
    "include",
    "filter",
    "include-from",
    "exclude-from",
    "files-from",
    "C",
    "F",
  );
  const skips = filters
    ? []
    : valuesOf(parsed, "exclude").map((glob) => glob.startsWith("**") ? null : nameOf(glob));
  return {
    ...reach(skips, []),
    links: has(parsed, "L", "copy-links"),
    vague: filters || skips.includes(null),
    leave_out: EXCLUDE,
  };
};

/** `tar -c`: excluded names, if they stand before the operands and no option changes their meaning. */
export function tarReach(args: readonly string[], parsed: Parsed): Below {
  const operand = args.indexOf(parsed.operands[0] ?? "");
  const late = args.findLastIndex((arg) => arg.startsWith("--exclude")) > operand ||
    parsed.options.some(({ name }) => /^(an|ig|no-[aiw]|wild)/.test(name));
  const skips = late ? [] : valuesOf(parsed, "exclude").map((glob) => baseNameOf(glob));
  return {
    ...reach(skips, []),
    links: has(parsed, "h"),
    vague: late || skips.includes(null) ||
      parsed.options.some(({ name }) => /^exclude-|^X$/.test(name)),
    leave_out: EXCLUDE,
  };
}

/** `zip -r`: a star in its patterns also matches slashes. */
export const zipReach: Reach = (parsed) => {
  if (!has(parsed, "r", "R")) return null;
  const skips = valuesOf(parsed, "x").map((glob) =>
    /^\*[^/*?]*$/.test(glob)
      ? nameOf(glob)
      : isHere(parsed.operands.slice(1))
      ? filesOf(glob)
      : null
  );
  return {
    ...reach(skips, []),
    links: !has(parsed, "y"),
    vague: skips.includes(null) || has(parsed, "i"),
    leave_out: { file: "-x '{path}'", folder: "-x '{path}/*'" },
  };
};

/** `diff -r`: the content of both folders. */
export const diffReach: Reach = (parsed) => {
  if (!has(parsed, "r", "recursive") || has(parsed, "q", "brief")) return null;
  const skips = valuesOf(parsed, "exclude").map((glob) => baseNameOf(glob));
  return {
    ...reach(skips, []),
    links: true,
    vague: skips.includes(null),
    leave_out: EXCLUDE,
  };
};

/** The files that `find` passes to its action. */
interface Found {
  below: Below;
  /** The only names, with the holes of a glob; null if the names may be any. */
  name: string | null;
}

const ACTIONS = /^-(exec|execdir|ok|okdir|print0?|printf|ls|delete|quit|f(print0?|printf|ls))$/;
const NARROWING =
  /^-([ac](min|newer|time)|daystart|depth|d|empty|executable|false|follow|fstype|g?u?id|group|i?(l?name|path|regex|wholename)|inum|links|m(axdepth|indepth|min|ount|time)|newer\w*|no(group|leaf|user|warn)|perm|readable|regextype|samefile|size|true|type|used|user|writable|xdev|xtype|warn)$/;

/**
 * The files that `find` names. Only a plain AND of tests, each negated at most once, before one final
 * action leaves files out.
 */
export function readFind(starts: readonly string[], tests: readonly string[]): Found {
  const leave_out = { file: "-not -path './{path}'", folder: "-not -path './{path}/*'" };
  // A program opens the file to which a name leads.
  const isFile = (at: number) => tests[at] === "-type" && tests[at + 1] === "f";
  const negates = (at: number) => /^(!|-not)$/.test(tests[at - 1] ?? "");
  const links = tests.includes("-follow") ||
    !tests.some((_, at) => isFile(at) && !negates(at) && !tests.includes("-o"));
  const everything: Found = {
    below: { ...EVERYTHING, links, vague: true, leave_out },
    name: null,
  };
  const skips: (Pattern | null)[] = [];
  const names: string[] = [];
  let [isPlain, isNegated] = [true, false];
  let depth = Infinity;
  for (let at = 0; at < tests.length; at++) {
    const test = tests[at]!;
    if (test === "!" || test === "-not") {
      if (isNegated) return everything;
      isNegated = true;
      continue;
    }
    if (test === "-a" || test === "-and") {
      if (isNegated) return everything;
      continue;
    }
    if (ACTIONS.test(test)) {
      return isNegated || endOfAction(tests, at) < tests.length ? everything : narrowed();
    }
    if (!NARROWING.test(test)) return everything;
    const value = FIND_VALUES.has(test) ? tests[++at] : "";
    if (value === undefined || isWild(value)) return everything;
    if (test === "-name") {
      if (isNegated) skips.push(baseNameOf(value, "file"));
      else names.push(value);
    } else if (isNegated && /^-(path|wholename)$/.test(test)) {
      skips.push(printedPath(starts, value));
    } else if (test === "-maxdepth") depth = depthOf([value]);
    else if (isNegated || !/^-(follow|mindepth|type)$/.test(test)) isPlain = false;
    else if (test === "-type" && value !== "f") isPlain = false;
    isNegated = false;
  }
  return isNegated ? everything : narrowed();

  function narrowed(): Found {
    const only = names.map((name) => baseNameOf(name, "file"));
    const vague = !isPlain || skips.includes(null) || only.includes(null) || only.length > 1;
    const single = only.length === 1 && only[0] ? names[0]! : null;
    return {
      // A file must have each of the names, so one of them is enough.
      below: { ...reach(skips, only.slice(0, 1)), links, depth, vague, leave_out },
      name: single?.replaceAll("*", STAR).replaceAll("?", QUESTION) ?? null,
    };
  }
}

/** The place after an action and its words. */
function endOfAction(tests: readonly string[], at: number): number {
  if (/^-(exec|ok)(dir)?$/.test(tests[at]!)) return endOfExec(tests, at + 1) + 1;
  return at + (tests[at] === "-fprintf" ? 3 : /^-(printf|fprint0?|fls)$/.test(tests[at]!) ? 2 : 1);
}

/** The place of the word that ends the command of `-exec`. */
export function endOfExec(args: readonly string[], from: number): number {
  for (let at = from; at < args.length; at++) {
    if (args[at] === ";" || (args[at] === "+" && args[at - 1] === "{}")) return at;
  }
  return args.length;
}

/** The tests and actions of `find` that take a value. */
export const FIND_VALUES = new Set(
  ("-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum " +
    "-ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path " +
    "-perm -printf -regex -regextype -samefile -size -type -uid -used -user -wholename -xtype -files0-from")
    .split(" "),
);

/** The files of a path as `find` prints it: `./` and the path, or the start and the path. */
function printedPath(starts: readonly string[], glob: string): Pattern | null {
  const isPrinted = starts.every((start) => start === ".")
    ? glob.startsWith("./")
    : starts.every((start) => isPlainPath(start) && !start.endsWith("/")) && isPlainPath(glob);
  return isPrinted ? filesOf(glob) : null;
}

/** One file, or everything below a folder (`secrets/*`). A star also matches slashes. */
function filesOf(glob: string): Pattern | null {
  if (glob.endsWith("/")) return null;
  const pattern = pathOf(glob);
  return pattern && { ...pattern, kind: /\/\*+$/.test(glob) ? "folder" : "file" };
}

/** Whether patterns of paths start where the program starts. */
function isHere(starts: readonly string[]): boolean {
  return starts.every((start) => /^\.\/?$/.test(start) || isPlainPath(start));
}

/** A path below the current folder without `.` and `..`, so that it is also its printed form. */
function isPlainPath(path: string): boolean {
  return isStatic(path) && /^[^/]/.test(path) &&
    !/(^|\/)(\.\.?)?(\/|$)/.test(path.replace(/\/$/, ""));
}

/** Records that a program reads what is below these folders. */
export function touchBelow(paths: readonly string[], below: Below, call: Call, run: Runner): void {
  // The same command may write a list that takes names back; the disk does not show it yet.
  if (below.takes_back && writesIgnoreList(call)) {
    below = { ...below, hidden: true, tracked: false };
  }
  for (const path of paths) {
    if (path === "-" || isWild(path)) continue;
    const deep = `${path.replace(/\/+$/, "")}/${DEEP}`;
    run.touch("read", deep, call, { implied: true, on_disk: true, below });
  }
}

function writesIgnoreList({ shell }: Call): boolean {
  return [...shell.files.keys()].some((path) => /\/\.(git|rg)?ignore$/.test(path));
}

/** The most folders that the words of one program may name. */
const MOST_FOLDERS = 24;

/**
 * Records that a program may read everything below the folders that its words name. It takes them
 * elsewhere, or no record says what it does with them. Only the disk tells which words are folders.
 */
export function touchFolders(words: readonly string[], call: Call, run: Runner): void {
  if (call.remote || call.supposed) return;
  const named = new Set<string>();
  for (const word of words) {
    for (const part of word.split(/[=,:@]/)) {
      if (FOLDER.test(part) && isStatic(part) && part.split("/").every(fits)) named.add(part);
    }
    if (named.size >= MOST_FOLDERS) break;
  }
  touchBelow([...named], { ...EVERYTHING, vague: true }, call, run);
}

/** A word that may be the name of a folder, and is no option. A slash alone is a usual separator. */
const FOLDER = /^(?!-|\/$)[^\s"'`$();|&<>*?]{1,1024}$/;

/** Whether a file system takes a name: it has at most 255 bytes, three for each letter. */
function fits(name: string): boolean {
  return name.length <= 85 || (name.length <= 255 && /^[!-~]*$/.test(name));
}

/** Patterns that are not null; a file needs one of `only` if there are any. */
function reach(skips: readonly (Pattern | null)[], only: readonly (Pattern | null)[]): Below {
  return {
    ...EVERYTHING,
    skips: skips.filter((one) => one !== null),
    only: only.includes(null) ? [] : only.filter((one) => one !== null),
  };
}

function depthOf(values: readonly string[]): number {
  const depth = Number(values.at(-1) ?? Infinity);
  return Number.isInteger(depth) && depth > 0 ? depth : Infinity;
}
