import { type Below, EVERYTHING, nameOf, pathOf, type Pattern } from "../below.ts";
import { DEEP, isWild, QUESTION, STAR } from "../holes.ts";
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
    if (name === "exclude-dir") return [nameOf(value ?? "", "folder")];
    return name === "exclude" && at > lastOnly ? [nameOf(value ?? "", "file")] : [];
  });
  const isOpen = firstSkip >= 0 && firstSkip < lastOnly;
  const only = isOpen ? [] : valuesOf(parsed, "include").map((glob) => nameOf(glob, "file"));
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
    glob.startsWith("!") && at > lastOnly ? [nameOf(glob.slice(1)) ?? pathOf(glob.slice(1))] : []
  );
  const chosen = only.length > 0 || has(parsed, "iglob");
  const unrestricted = has(parsed, "unrestricted", "u");
  return {
    ...reach(skips, only),
    hidden: chosen || unrestricted || has(parsed, "hidden", "."),
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
  const skips = valuesOf(parsed, "ignore", "ignore-dir").map((glob) => nameOf(glob));
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
  const skips = filters ? [] : valuesOf(parsed, "exclude").map((glob) => nameOf(glob));
  return {
    ...reach(skips, []),
    links: has(parsed, "L", "copy-links"),
    vague: filters || skips.includes(null),
    leave_out: EXCLUDE,
  };
};

/** `tar -c`: excluded names, if they stand before the operands. */
export function tarReach(args: readonly string[], parsed: Parsed): Below {
  const operand = args.indexOf(parsed.operands[0] ?? "");
  const late = args.findLastIndex((arg) => arg.startsWith("--exclude")) > operand;
  const skips = late ? [] : valuesOf(parsed, "exclude").map((glob) => nameOf(glob));
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
    /^\*[^/*?]*$/.test(glob) ? nameOf(glob) : pathOf(glob)
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
  const skips = valuesOf(parsed, "exclude").map((glob) => nameOf(glob));
  return {
    ...reach(skips, []),
    links: true,
    vague: skips.includes(null),
    leave_out: EXCLUDE,
  };
};

/** The files that `find` names with these tests. */
export function findReach(args: readonly string[]): Below {
  const leave_out = { file: "-not -path './{path}'", folder: "-not -path './{path}/*'" };
  const last = args.findIndex((arg) => /^-(exec|execdir|ok|okdir|print0?|ls|delete)$/.test(arg));
  const tests = args.slice(0, last < 0 ? undefined : last);
  const links = tests.some((arg) => /^-(L|follow)$/.test(arg));
  if (tests.some((arg) => /^(-o|-or|,|\(|\\\(|-prune|-files0-from)$/.test(arg))) {
    return { ...EVERYTHING, links, vague: true, leave_out };
  }
  const skips: (Pattern | null)[] = [];
  const only: (Pattern | null)[] = [];
  let isPlain = true;
  for (const [at, test] of tests.entries()) {
    const value = tests[at + 1] ?? "";
    const isNegated = /^(!|-not)$/.test(tests[at - 1] ?? "");
    if (test === "-name") (isNegated ? skips : only).push(nameOf(value, "file"));
    else if (test === "-path" && isNegated) {
      skips.push(value.endsWith("/*") || !/[*?]/.test(value) ? pathOf(value) : null);
    } else if (/^-[a-z]/.test(test) && !/^-(type|maxdepth|mindepth|follow|not)$/.test(test)) {
      isPlain = false;
    }
  }
  const depth = depthOf(tests.filter((_, at) => tests[at - 1] === "-maxdepth"));
  const vague = !isPlain || skips.includes(null) || only.includes(null) ||
    tests.some((arg, at) => tests[at - 1] === "-type" && arg !== "f");
  return { ...reach(skips, only), links, depth, vague, leave_out };
}

/** A name test of `find` with the holes of a glob; null if the names may be any. */
export function findName(args: readonly string[]): string | null {
  if (args.some((arg) => /^(-o|-or|,|\(|\\\(|!|-not)$/.test(arg))) return null;
  const at = args.indexOf("-name");
  const glob = args[at + 1];
  if (at < 0 || glob === undefined || isWild(glob) || nameOf(glob) === null) return null;
  return glob.replaceAll("*", STAR).replaceAll("?", QUESTION);
}

/** Records that a program reads what is below these folders. */
export function touchBelow(paths: readonly string[], below: Below, call: Call, run: Runner): void {
  for (const path of paths) {
    if (path === "-" || isWild(path)) continue;
    const deep = `${path.replace(/\/+$/, "")}/${DEEP}`;
    run.touch("read", deep, call, { implied: true, on_disk: true, below });
  }
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
