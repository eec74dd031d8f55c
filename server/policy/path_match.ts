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
import { HOLE, isWild } from "./holes.ts";
import { meter } from "./meter.ts";
import { RuleIndex } from "./rule_index.ts";

/** The start of a pattern: the file system's root, the home folder, a project root, any folder. */
type Anchor = "absolute" | "home" | "root" | "anywhere";

interface Glob {
  anchor: Anchor;
  exact: Segments;
  folded: Segments;
}

interface Segments {
  all: Segment[];
  /** The longest literal name in the pattern; a path without it cannot match. */
  spelt: string | null;
}

/** A compiled path pattern, one glob per brace alternative. */
export type PathPattern = readonly Glob[];

/** The segments of a path, and the folded keys that rules which ask or block compare. */
interface Names {
  plain: string[];
  folded: string[];
  /** The names that Windows would open instead; null if they equal `folded`. */
  aliased: string[] | null;
  /** A part of the path is unknown. */
  holey: boolean;
}

/** One file under every name that a pattern may use. */
export interface PathNames {
  absolute: Names[];
  home: Names[];
  roots: Names[];
  /** The absolute path as given. */
  path: string;
}

/** Compiles a gitignore-like pattern. @throws GateError `invalid`, naming its fault */
export function compilePath(pattern: string): PathPattern {
  const refuse = (why: string) =>
    new GateError("invalid", `Cannot use the pattern "${pattern}": ${why}`);
  if (new TextEncoder().encode(pattern).length > GLOB_LIMITS.bytes) {
    throw refuse(`it is longer than ${GLOB_LIMITS.bytes} bytes`);
  }
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f\uFDD0-\uFDEF]/.test(pattern)) throw refuse("it has a control character");
  if (pattern.startsWith("!")) {
    throw refuse("exceptions with ! are not supported; write an allow rule");
  }
  return expandBraces(pattern).map((one) => compileOne(one, refuse));
}

function compileOne(pattern: string, refuse: (why: string) => GateError): Glob {
  const text = pattern.replace(/^\$HOME(?=\/|$)|^\$\{HOME\}(?=\/|$)/, "~").replace(/^(\.\/)+/, "");
  const anchor = anchorOf(text);
  const names = text.split("/").filter((name) => name !== "" && name !== ".")
    .filter((name, at, all) => name !== "**" || all[at - 1] !== "**");
  if (anchor === "home") names.shift();
  if (names.includes("..")) throw refuse('".." is not supported');
  // A match covers everything below it, so a final ** matters only as the whole pattern.
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

/** Folded names of which every matching path has at least one; empty if there are none. */
function speltNames(pattern: PathPattern): string[] {
  const spelt = pattern.map(({ folded }) => folded.spelt);
  return spelt.every((name) => name !== null) ? spelt : [];
}

function anchorOf(text: string): Anchor {
  if (text.startsWith("/")) return "absolute";
  if (text === "~" || text.startsWith("~/")) return "home";
  return text.replace(/\/+$/, "").includes("/") ? "root" : "anywhere";
}

/** The parts of a pattern that start at the root or at home: only they match outside the project. */
export function anchored(pattern: PathPattern): PathPattern {
  return pattern.filter(({ anchor }) => anchor === "absolute" || anchor === "home");
}

/** All names of an absolute path, for `matchPath`. Reads and writes ask alike, so one result is cached. */
export function namePath(path: string, roots: readonly string[], home: string): PathNames {
  if (path !== lastNames.path || roots !== lastNames.roots || home !== lastNames.home) {
    lastNames = { path, roots, home, names: nameAll(path, roots, home) };
  }
  return lastNames.names;
}

function nameAll(path: string, roots: readonly string[], home: string): PathNames {
  const all = toNames(path);
  const inside = roots.map((root) => below(all, root)).filter((rest) => rest !== null);
  const inHome = below(all, home);
  return { absolute: withoutPrivate(all), home: inHome ? [inHome] : [], roots: inside, path };
}

let lastNames: { path: string; roots: readonly string[]; home: string; names: PathNames } = {
  ...{ path: "", roots: [], home: "" },
  names: { absolute: [], home: [], roots: [], path: "" },
};

function toNames(path: string): Names {
  const plain = split(path);
  // Most paths are plain ASCII and folded in one step.
  const isEasy = isPlain(path);
  const lower = isEasy ? path.toLowerCase() : "";
  const folded = !isEasy ? plain.map(fold) : lower === path ? plain : split(lower);
  const aliased = !isEasy || mayBeAlias(path) ? folded.map(alias) : null;
  const differs = aliased?.some((name, i) => name !== folded[i]) ?? false;
  return { plain, folded, aliased: differs ? aliased : null, holey: isHoley(path) };
}

/** Whether the pattern matches the path. `forbids` compares folded keys, so it errs towards yes. */
export function matchPath(pattern: PathPattern, names: PathNames, forbids: boolean): Match {
  let best: Match = "no";
  for (const glob of pattern) {
    for (const one of namesFor(glob, names)) {
      const found = compareNames(glob, one, forbids);
      if (found === "yes") return "yes";
      if (found === "maybe") best = "maybe";
    }
  }
  return best;
}

/**
 * A test whether one of the patterns, each about a single name, forbids a file or folder of that
 * name. It prepares what `matchPath` computes for each path, because a repository has many names.
 */
export function compileNameTest(patterns: readonly PathPattern[]): (name: string) => boolean {
  const globs = patterns.flat();
  const last = globs.map(({ folded }) => folded.all.at(-1)!);
  const literals = new Set(last.map((one) => one.deep ? null : one.literal));
  const others = last.filter((one) => one.deep || one.literal === null);
  return (name) => {
    if (isPlain(name) && !mayBeAlias(name) && !isHoley(name)) {
      meter.reset();
      const folded = name.toLowerCase();
      return literals.has(folded) || others.some((one) => matchSegment(one, folded) !== "no");
    }
    meter.reset();
    const names = namePath(`/${name}`, ["/"], "/");
    return patterns.some((pattern) => matchPath(pattern, names, true) !== "no");
  };
}

function namesFor(glob: Glob, names: PathNames): Names[] {
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
 * Walks pattern and path together and keeps every reached position with its certainty. A pattern
 * that has been used up matches everything below.
 */
function run({ all: pattern, spelt }: Segments, segments: string[], holey: boolean): Match {
  meter.spend(5);
  if (spelt !== null && !holey && !segments.includes(spelt)) return "no";
  const { length } = pattern;
  if (!holey && length === 2 && pattern[0]!.deep && !pattern[1]!.deep) {
    return spelt !== null || segments.some((one) => matchSegment(pattern[1]!, one) === "yes")
      ? "yes"
      : "no";
  }
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
/** Reused by every walk; a pattern has fewer positions than bytes. */
const FIRST = new Uint8Array(GLOB_LIMITS.bytes + 2);
const SECOND = new Uint8Array(GLOB_LIMITS.bytes + 2);

/** Whether the path's first name may match the pattern's. */
function begins(one: Segment | undefined, segment: string): boolean {
  return one === undefined || one.deep || matchSegment(one, segment) !== "no";
}

/** A `**` may match nothing. */
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

/** Whether Windows may open another name for one in this path. */
function mayBeAlias(path: string): boolean {
  return path.includes(":") || path.includes("./") || path.includes(" /") || path.endsWith(".") ||
    path.endsWith(" ");
}

function isHoley(segment: string): boolean {
  return HOLE.test(segment);
}

/** Whether the unknown part may contain slashes, so that one segment may become several. */
function spans(segment: string): boolean {
  return /[\uFDD0\uFDD1\uFDD3]/.test(segment);
}

function couldBegin(pattern: Segment, segment: string): boolean {
  if (pattern.deep || pattern.literal === null) return true;
  const known = segment.slice(0, segment.search(/[\uFDD0-\uFDD6]/));
  return pattern.literal.startsWith(known);
}

function split(path: string): string[] {
  const isFolded = path.startsWith("/") && path.length > 1 && !path.includes("//") &&
    !path.endsWith("/");
  return isFolded ? path.slice(1).split("/") : path.split("/").filter((name) => name !== "");
}

const MOST_FOLDERS = 64;
const FOLDERS = new Map<string, string[]>();

/** The names of a project or home; there are few of them. */
function splitFolder(folder: string): string[] {
  let names = FOLDERS.get(folder);
  if (names === undefined) {
    if (FOLDERS.size >= MOST_FOLDERS) FOLDERS.clear();
    FOLDERS.set(folder, names = split(folder));
  }
  return names;
}

/** The names relative to a folder; null outside it. */
function below(names: Names, folder: string): Names | null {
  const parts = splitFolder(folder);
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

/** Path rules indexed by a literal name, so that a thousand of them cost little. */
export class PathIndex<Rule extends { compiled: PathPattern }> {
  readonly #rules = new RuleIndex<Rule>();

  /** Every rule, in its original order. */
  get all(): readonly Rule[] {
    return this.#rules.all;
  }

  constructor(rules: readonly Rule[]) {
    for (const rule of rules) this.#rules.add(rule, speltNames(rule.compiled));
  }

  /** The rules that may match one of the names, in their original order. */
  candidates(names: readonly PathNames[]): readonly Rule[] {
    const keys: string[] = [];
    for (const { absolute: [all] } of names) {
      const { folded, aliased, holey } = all!;
      for (const segments of aliased ? [folded, aliased] : [folded]) {
        if (!holey) {
          keys.push(...segments);
          continue;
        }
        for (const segment of segments) {
          if (!isHoley(segment)) keys.push(segment);
          else if (spans(segment)) return this.#rules.all;
          else keys.push(...this.#fitting(segment));
        }
      }
    }
    return this.#rules.under(keys);
  }

  /** The literal names that a partly known segment may be. */
  #fitting(segment: string): string[] {
    const parts = segment.split(HOLE);
    const [front, back] = [parts[0]!, parts.at(-1)!];
    return [...this.#rules.keys()].filter((name) => name.startsWith(front) && name.endsWith(back));
  }
}
