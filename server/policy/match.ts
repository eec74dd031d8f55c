import { GateError } from "../errors.ts";
import { alias, fold } from "./fold.ts";
import {
  compileSegment,
  expandBraces,
  GLOB_LIMITS,
  type Match,
  matchSegment,
  type Segment,
} from "./glob.ts";
import { isWild } from "./holes.ts";

/** Where a pattern hangs: at the file system's root, at the home folder, at each project root. */
type Anchor = "absolute" | "home" | "root" | "anywhere";

interface Glob {
  anchor: Anchor;
  exact: Segment[];
  folded: Segment[];
}

/** A path pattern ready to be compared. */
export type PathPattern = readonly Glob[];

/** A path's segments, and the keys under which rules that forbid compare them. */
interface Names {
  plain: string[];
  folded: string[];
  /** Null when it would be the same as `folded`. */
  aliased: string[] | null;
}

/** One file under all the names that patterns speak of. */
export interface PathNames {
  absolute: Names[];
  home: Names[];
  roots: Names[];
  /** The absolute path as it was given. */
  path: string;
}

/** Compiles a gitignore-like pattern. @throws GateError `invalid`, saying what is wrong with it */
export function compilePath(pattern: string): PathPattern {
  const refuse = (why: string) =>
    new GateError("invalid", `Cannot use the pattern "${pattern}": ${why}`);
  if (new TextEncoder().encode(pattern).length > GLOB_LIMITS.bytes) {
    throw refuse(`it is longer than ${GLOB_LIMITS.bytes} bytes`);
  }
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f\uFDD0-\uFDEF]/.test(pattern)) throw refuse("it has a control character");
  if (pattern.startsWith("!")) throw refuse("exceptions with ! are not known; write an allow rule");
  return expandBraces(pattern).map((one) => compileOne(one, refuse));
}

function compileOne(pattern: string, refuse: (why: string) => GateError): Glob {
  const text = pattern.replace(/^\$HOME(?=\/|$)|^\$\{HOME\}(?=\/|$)/, "~").replace(/^(\.\/)+/, "");
  const anchor = anchorOf(text);
  const names = text.split("/").filter((name) => name !== "" && name !== ".");
  if (anchor === "home") names.shift();
  if (names.includes("..")) throw refuse('".." is not known in a pattern');
  // What matches covers everything below it, so a final ** adds nothing but at the very top.
  while (names.length > 1 && names.at(-1) === "**") names.pop();
  if (anchor === "anywhere" && names[0] !== "**") names.unshift("**");
  return {
    anchor: names[0] === "**" && anchor === "root" ? "anywhere" : anchor,
    exact: names.map(compileSegment),
    folded: names.map((name) => compileSegment(fold(name))),
  };
}

function anchorOf(text: string): Anchor {
  if (text.startsWith("/")) return "absolute";
  if (text === "~" || text.startsWith("~/")) return "home";
  return text.replace(/\/+$/, "").includes("/") ? "root" : "anywhere";
}

/** What of a pattern names a place of its own: only that speaks of files outside the project. */
export function anchored(pattern: PathPattern): PathPattern {
  return pattern.filter(({ anchor }) => anchor === "absolute" || anchor === "home");
}

/** All names of an absolute path for `comparePath`. */
export function namePath(path: string, roots: readonly string[], home: string): PathNames {
  const absolute = split(path);
  const inside = roots.map((root) => below(absolute, split(root))).filter((rest) => rest !== null);
  const inHome = below(absolute, split(home));
  return {
    absolute: withoutPrivate(absolute).map(toNames),
    home: inHome ? [toNames(inHome)] : [],
    roots: inside.map(toNames),
    path,
  };
}

function toNames(plain: string[]): Names {
  const folded = plain.map(fold);
  const aliased = folded.map(alias);
  return { plain, folded, aliased: aliased.some((name, i) => name !== folded[i]) ? aliased : null };
}

/** Whether the pattern names the path; `forbids` compares folded keys and so errs towards yes. */
export function comparePath(pattern: PathPattern, names: PathNames, forbids: boolean): Match {
  let best: Match = "no";
  for (const glob of pattern) {
    for (const one of candidates(glob, names)) {
      const found = compareNames(glob, one, forbids);
      if (found === "yes") return "yes";
      if (found === "maybe") best = "maybe";
    }
  }
  return best;
}

function candidates(glob: Glob, names: PathNames): Names[] {
  if (glob.anchor === "absolute") return names.absolute;
  if (glob.anchor === "home") return names.home;
  if (names.roots.length > 0) return names.roots;
  return glob.anchor === "anywhere" ? names.absolute : [];
}

/** On macOS `/etc`, `/var` and `/tmp` are links into `/private`. */
function withoutPrivate(segments: string[]): string[][] {
  return segments[0] === "private" ? [segments, segments.slice(1)] : [segments];
}

function compareNames(glob: Glob, names: Names, forbids: boolean): Match {
  if (!forbids) return run(glob.exact, names.plain);
  const plain = run(glob.folded, names.folded);
  if (plain === "yes" || names.aliased === null) return plain;
  const other = run(glob.folded, names.aliased);
  return other === "no" ? plain : other;
}

/** A pattern that is used up has matched: everything below belongs to it. */
function run(pattern: Segment[], segments: string[]): Match {
  if (misses(pattern, segments)) return "no";
  const memo = new Map<number, Match>();
  const visit = (p: number, s: number): Match => {
    if (p === pattern.length) return segments.slice(0, s).some(isWild) ? "maybe" : "yes";
    if (s === segments.length) return pattern.slice(p).every((one) => one.deep) ? "yes" : "no";
    const key = p * (segments.length + 1) + s;
    const known = memo.get(key);
    if (known) return known;
    const found = compare(p, s);
    memo.set(key, found);
    return found;
  };
  const compare = (p: number, s: number): Match => {
    const one = pattern[p]!;
    if (one.deep) return better(visit(p + 1, s), () => visit(p, s + 1));
    const here = matchSegment(one, segments[s]!);
    if (spans(segments[s]!) && here !== "no") return "maybe";
    if (spans(segments[s]!)) return couldBegin(one, segments[s]!) ? "maybe" : "no";
    if (here === "no") return "no";
    const rest = visit(p + 1, s + 1);
    return rest === "no" ? "no" : here === "maybe" ? "maybe" : rest;
  };
  return visit(0, 0);
}

/** A name that the pattern spells out and the path does not have: most rules end here. */
function misses(pattern: Segment[], segments: string[]): boolean {
  const spelt = pattern.find((one) => !one.deep && one.literal !== null);
  if (!spelt || spelt.deep || segments.includes(spelt.literal!)) return false;
  return !segments.some(isHoley);
}

function isHoley(segment: string): boolean {
  return /[\uFDD0-\uFDD6]/.test(segment);
}

function better(first: Match, second: () => Match): Match {
  if (first === "yes") return first;
  const other = second();
  return other === "no" ? first : other;
}

/** Whether the unknown part may hold slashes, so that one segment stands for several. */
function spans(segment: string): boolean {
  return /[\uFDD0\uFDD1\uFDD3]/.test(segment);
}

function couldBegin(pattern: Segment, segment: string): boolean {
  if (pattern.deep || pattern.literal === null) return true;
  const known = segment.slice(0, segment.search(/[\uFDD0-\uFDD6]/));
  return pattern.literal.startsWith(known);
}

function split(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

function below(path: string[], folder: string[]): string[] | null {
  return folder.every((name, i) => path[i] === name) ? path.slice(folder.length) : null;
}
