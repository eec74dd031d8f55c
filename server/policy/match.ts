import { GateError } from "../errors.ts";
import { alias, fold, isPlain } from "./fold.ts";
import {
  compileSegment,
  expandBraces,
  GLOB_LIMITS,
  type Match,
  matchSegment,
  type Segment,
} from "./glob.ts";
import { isWild } from "./holes.ts";
import { meter } from "./meter.ts";

/** Where a pattern hangs: at the file system's root, at the home folder, at each project root. */
type Anchor = "absolute" | "home" | "root" | "anywhere";

interface Glob {
  anchor: Anchor;
  exact: Segments;
  folded: Segments;
}

interface Segments {
  all: Segment[];
  /** The longest name that it spells out: a path without it is no match. */
  spelt: string | null;
}

/** A path pattern ready to be compared. */
export type PathPattern = readonly Glob[];

/** A path's segments, and the keys under which rules that forbid compare them. */
interface Names {
  plain: string[];
  folded: string[];
  /** Null when it would be the same as `folded`. */
  aliased: string[] | null;
  /** A part of it is not known. */
  holey: boolean;
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
  const names = text.split("/").filter((name) => name !== "" && name !== ".")
    .filter((name, at, all) => name !== "**" || all[at - 1] !== "**");
  if (anchor === "home") names.shift();
  if (names.includes("..")) throw refuse('".." is not known in a pattern');
  // What matches covers everything below it, so a final ** adds nothing but at the very top.
  while (names.length > 1 && names.at(-1) === "**") names.pop();
  if (anchor === "anywhere" && names[0] !== "**") names.unshift("**");
  return {
    anchor: names[0] === "**" && anchor === "root" ? "anywhere" : anchor,
    exact: toSegments(names),
    folded: toSegments(names.map(fold)),
  };
}

function toSegments(names: string[]): Segments {
  const all = names.map(compileSegment);
  const spelt = all.flatMap((one) => one.deep || one.literal === null ? [] : [one.literal]);
  return { all, spelt: spelt.sort((a, b) => b.length - a.length)[0] ?? null };
}

/** Names (folded) of which a path must have one to match at all; null when it may have any. */
export function speltNames(pattern: PathPattern): string[] | null {
  const spelt = pattern.map(({ folded }) => folded.spelt);
  return spelt.every((name) => name !== null) ? spelt : null;
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
  const all = toNames(path);
  const inside = roots.map((root) => below(all, root)).filter((rest) => rest !== null);
  const inHome = below(all, home);
  return { absolute: withoutPrivate(all), home: inHome ? [inHome] : [], roots: inside, path };
}

function toNames(path: string): Names {
  const plain = split(path);
  // Most paths are plain letters: they are folded at once.
  const isEasy = isPlain(path);
  const folded = isEasy ? split(path.toLowerCase()) : plain.map(fold);
  const aliased = !isEasy || mayBeAlias(path) ? folded.map(alias) : null;
  const differs = aliased?.some((name, i) => name !== folded[i]) ?? false;
  return { plain, folded, aliased: differs ? aliased : null, holey: isHoley(path) };
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
function withoutPrivate(names: Names): Names[] {
  return names.plain[0] === "private" ? [names, after(names, 1)] : [names];
}

function compareNames(glob: Glob, names: Names, forbids: boolean): Match {
  if (!forbids) return run(glob.exact, names.plain, names.holey);
  const plain = run(glob.folded, names.folded, names.holey);
  if (plain === "yes" || names.aliased === null) return plain;
  const other = run(glob.folded, names.aliased, names.holey);
  return other === "no" ? plain : other;
}

/**
 * Walks pattern and path side by side, keeping every reached place with how sure it is. A pattern
 * that is used up has matched: everything below belongs to it.
 */
function run({ all: pattern, spelt }: Segments, segments: string[], holey: boolean): Match {
  meter.spend(5);
  if (spelt !== null && !holey && !segments.includes(spelt)) return "no";
  const { length } = pattern;
  const first = segments[0];
  if (first !== undefined && !(holey && spans(first)) && !begins(pattern[0], first)) return "no";
  let reached = FIRST.fill(NO, 0, length + 1);
  let next = SECOND;
  let best: number = NO;
  reached[0] = YES;
  let wild = false;
  for (const segment of segments) {
    meter.spend(10 + length);
    passDeep(pattern, reached);
    if (reached[length]) best = Math.max(best, wild ? MAYBE : reached[length]!);
    if (best === YES) return "yes";
    next.fill(NO, 0, length + 1);
    let alive = false;
    for (let p = 0; p < length; p++) {
      if (!reached[p]) continue;
      alive = true;
      const here = WEIGHT[step(pattern[p]!, segment)];
      if (pattern[p]!.deep) next[p] = Math.max(next[p]!, reached[p]!);
      else if (holey && spans(segment)) best = Math.max(best, here === NO ? NO : MAYBE);
      else next[p + 1] = Math.max(next[p + 1]!, Math.min(reached[p]!, here));
    }
    if (!alive) break;
    wild ||= holey && isWild(segment);
    [reached, next] = [next, reached];
  }
  passDeep(pattern, reached);
  const whole = wild ? Math.min(MAYBE, reached[length]!) : reached[length]!;
  const rest = pattern.at(-1)?.deep ? reached[length - 1]! : NO;
  return MATCHES[Math.max(best, whole, rest)]!;
}

const NO = 0;
const MAYBE = 1;
const YES = 2;
const MATCHES: Match[] = ["no", "maybe", "yes"];
const WEIGHT: Record<Match, number> = { no: NO, maybe: MAYBE, yes: YES };
/** Used anew by every walk; a pattern has no more places than bytes. */
const FIRST = new Uint8Array(GLOB_LIMITS.bytes + 2);
const SECOND = new Uint8Array(GLOB_LIMITS.bytes + 2);

/** Whether the path's first name may be the pattern's. */
function begins(one: Segment | undefined, segment: string): boolean {
  return one === undefined || one.deep || matchSegment(one, segment) !== "no";
}

/** A `**` may stand for nothing. */
function passDeep(pattern: Segment[], reached: Uint8Array): void {
  for (let p = 0; p < pattern.length; p++) {
    if (pattern[p]!.deep) reached[p + 1] = Math.max(reached[p + 1]!, reached[p]!);
  }
}

function step(one: Segment, segment: string): Match {
  if (one.deep) return "yes";
  const here = matchSegment(one, segment);
  return here === "no" && spans(segment) && couldBegin(one, segment) ? "maybe" : here;
}

/** Whether a name of it may be one that Windows takes for another. */
function mayBeAlias(path: string): boolean {
  return path.includes(":") || path.includes("./") || path.includes(" /") || path.endsWith(".") ||
    path.endsWith(" ");
}

function isHoley(segment: string): boolean {
  return /[\uFDD0-\uFDD6]/.test(segment);
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

/** The names as seen from a folder; null when they are not below it. */
function below(names: Names, folder: string): Names | null {
  const parts = split(folder);
  return parts.every((name, i) => names.plain[i] === name) ? after(names, parts.length) : null;
}

function after({ plain, folded, aliased, holey }: Names, count: number): Names {
  const rest = plain.slice(count);
  return {
    plain: rest,
    folded: folded.slice(count),
    aliased: aliased?.slice(count) ?? null,
    holey: holey && rest.some(isHoley),
  };
}
