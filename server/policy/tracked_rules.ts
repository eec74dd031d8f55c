import { EVERYTHING } from "./below.ts";
import { evaluateBelow, isNameRule } from "./below_rules.ts";
import type { Finding } from "./finding.ts";
import { DEEP, isStatic } from "./holes.ts";
import { absolutePath } from "./interpret/state.ts";
import type { Effect, Unit } from "./interpret/unit.ts";
import { meter } from "./meter.ts";
import { compileNameTest } from "./path_match.ts";
import { evaluateRead, withoutDoubt } from "./path_rules.ts";
import type { CompiledPolicy } from "./policy.ts";
import { has } from "./programs/options.ts";
import type { PathFacts, Surroundings } from "./request.ts";
import { excludesOf, fromTop, type Repository, testOf } from "./tracked.ts";

/** Bounds of one answer: the files that it names, and the repositories that it looks into. */
const LIMITS = { named: 8, excluded: 40, repositories: 64 } as const;

/** The commands around one that shows tracked files. */
interface Beside {
  units: readonly Unit[];
  /** The same command may make the repository. */
  makes: boolean;
}

/**
 * The findings about a git command that shows tracked files: one for each forbidden file that git
 * tracks, or that the same command may add.
 */
export function evaluateTracked(
  policy: CompiledPolicy,
  { tracked, from, text }: Effect,
  around: Surroundings,
  { units, makes }: Beside,
): Finding[] {
  if (!tracked || from === undefined || !around.repository) return [];
  if (!isStatic(from)) return unknown(policy, around.roots[0] ?? "/", around, NO_FOLDER);
  const folder = around.resolve(from).real;
  const found = around.repository(folder);
  if (found === null) {
    return makes ? unknown(policy, folder, around, "gate cannot see the repository yet") : [];
  }
  const { root } = found;
  if (around.is_guest && !around.roots.some((one) => isNested(one, root))) return [];
  const exact = tracked.only.filter(({ reach }) => reach === "exact")
    .map((place) => fromTop(place, folder, root)).filter((path) => path !== null);
  const direct = exact.flatMap((path) => evaluateRead(policy, factsOf(root, path), around));
  if (tracked.only.length > 0 && exact.length === tracked.only.length) return direct;
  direct.push(...units.flatMap((unit) => evaluateAdded(policy, unit, root, text, around)));
  if (tracked.unnamed) return [...direct, ...unknown(policy, root, around, NO_NAMES)];
  const isShown = testOf(tracked, folder, root);
  const repositories = tracked.modules ? withModules(found, around) : [found];
  return [
    ...direct,
    ...repositories.flatMap((one) => {
      if (one.files === null) return unknown(policy, one.root, around, NO_INDEX);
      const above = one.root === root ? "" : `${one.root.slice(root.length + 1)}/`;
      const hidden = one.folders.filter((path) => isShown(above + path)).flatMap((path) =>
        unknown(policy, `${one.root}/${path}`, around, "the index does not list its files")
      );
      const present = forbiddenIn(policy, one.root, one.files, around);
      const past = tracked.history ? one.history() : null;
      const gone = past ? forbiddenIn(policy, one.root, past.names, around, "history") : [];
      const forbidden = [...new Set([...present, ...gone])].filter((path) => isShown(above + path));
      const open = past && past.state !== "known"
        ? unknown(policy, one.root, around, past.state === "reading" ? READING : NO_HISTORY)
        : [];
      return [...hidden, ...open, ...describe(one.root, above, forbidden, new Set(present))];
    }),
  ];

  function describe(
    top: string,
    above: string,
    forbidden: readonly string[],
    present: ReadonlySet<string>,
  ): Finding[] {
    const left_out = forbidden.slice(0, LIMITS.excluded).map((path) => above + path);
    const alternative = tracked!.advice.replace("{all}", folder === root ? "." : ":/")
      .replace("{excludes}", () => excludesOf(left_out, folder, root));
    return forbidden.slice(0, LIMITS.named).flatMap((path) => {
      const why = present.has(path)
        ? `git tracks "${above}${path}" and may show it`
        : `earlier or other commits have "${above}${path}", and git may show it`;
      return evaluateRead(policy, factsOf(top, path), around).map((finding) => ({
        ...finding,
        reason: `${finding.reason} (${why})`,
        alternative,
      }));
    });
  }
}

/** The forbidden files on the disk that this unit may add to what git tracks. */
function evaluateAdded(
  policy: CompiledPolicy,
  unit: Unit,
  root: string,
  text: string,
  around: Surroundings,
): Finding[] {
  const added = addedBy(unit, root);
  return (added?.folders ?? []).flatMap((folder) => {
    const below = { ...EVERYTHING, tracked: !added!.forced, vague: true };
    const path = `${folder}/${DEEP}`;
    const effect = { op: "read" as const, path, text, below, from: root };
    const found = evaluateBelow(policy, effect, around, (one) =>
      `"git ${unit.read.words[1]}" may take in "${one}", and git may show it then`) ?? [];
    return found.map((one) => ({
      ...one,
      alternative: "Name the files to add",
      // The sandbox hides the file, so git cannot take it in.
      is_walled: one.rule?.list === "blockedPaths",
    }));
  });
}

/** The folders from which a git command takes files that it did not track; null if it takes none. */
function addedBy({ argv, read, folders }: Unit, root: string): Added | null {
  const [program, subcommand = ""] = read.words;
  if (program !== "git" || has(read, "dry-run", "n")) return null;
  if (subcommand === "stash") {
    const takes = has(read, "include-untracked", "all", "u", "a") || read.wild;
    return takes ? { folders: [root], forced: has(read, "all", "a") || read.wild } : null;
  }
  if (subcommand === "update-index" && argv.includes("--add")) {
    return { folders: [root], forced: true };
  }
  if (!/^(add|stage)$/.test(subcommand) || has(read, ...ONLY_TRACKED)) return null;
  const isPlain = argv[1] === subcommand && read.operands.length > 0 &&
    read.operands.every((path) => isStatic(path) && !path.startsWith(":"));
  const places = isPlain
    ? folders.flatMap((folder) => read.operands.map((path) => absolutePath(path, folder)))
    : [root];
  return { folders: places.filter(isStatic), forced: has(read, "force", "f") || read.wild };
}

/** Options with which git adds changes of files that it tracks. */
const ONLY_TRACKED = ["update", "u", "patch", "p", "interactive", "i", "edit", "e"];

interface Added {
  folders: string[];
  /** It also takes what the repository ignores. */
  forced: boolean;
}

/** Whether one of the folders is inside the other. */
function isNested(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

const NO_FOLDER = "gate cannot tell in which folder git runs";
const NO_NAMES = "git also shows what has no name";
const READING = "gate still reads the names in the history; try again in a moment";
const NO_HISTORY = "gate cannot tell which files earlier commits have";
const NO_INDEX = "gate cannot tell which files git tracks";

/** The rules that may forbid a file below a folder; they only ask. */
function unknown(
  policy: CompiledPolicy,
  root: string,
  around: Surroundings,
  why: string,
): Finding[] {
  meter.reset();
  return evaluateRead(policy, factsOf(root, DEEP), around).map((finding) => ({
    ...finding,
    effect: "ask" as const,
    reason: `${withoutDoubt(finding.reason)} (${why})`,
    alternative: "Name the file to show, as in git show HEAD:path",
  }));
}

function factsOf(root: string, path: string): PathFacts {
  const full = path === "" ? root : `${root}/${path}`;
  return { lexical: full, real: full };
}

/** The repository and those of its submodules. */
function withModules(start: Repository, around: Surroundings): Repository[] {
  const all = [start];
  for (const { root, modules } of all) {
    for (const path of modules) {
      const inner = around.repository!(`${root}/${path}`);
      // A submodule that is not checked out belongs to the repository around it.
      if (inner?.root === `${root}/${path}`) all.push(inner);
      if (all.length >= LIMITS.repositories) return all;
    }
  }
  return all;
}

/**
 * Why a sandbox does not hide what a rule forbids: git keeps it in its own files, which any program
 * can read. Only rules that deny count.
 */
export function findSecretsInGit(policy: CompiledPolicy, around: Surroundings): string[] {
  if (!around.repository || !policy.paths.all.some(({ effect }) => effect === "deny")) return [];
  return around.roots.flatMap((root) => {
    const found = around.repository!(root);
    return found === null ? [] : withModules(found, around).flatMap((one) => {
      if (one.files === null || one.folders.length > 0) return [NO_INDEX];
      const { names, state } = one.history();
      const secret = deniedIn(policy, one.root, forbiddenIn(policy, one.root, one.files, around)) ??
        deniedIn(policy, one.root, forbiddenIn(policy, one.root, names, around, "history"));
      if (secret !== null) return [`git keeps "${secret}", and a sandbox does not hide it there`];
      return state === "known" ? [] : [state === "reading" ? READING : NO_HISTORY];
    });
  });

  function deniedIn(
    policy: CompiledPolicy,
    root: string,
    forbidden: readonly string[],
  ): string | null {
    const known = DENIED.get(forbidden);
    if (known !== undefined) return known;
    const denied = forbidden.find((path) => {
      meter.reset();
      return evaluateRead(policy, factsOf(root, path), around).some(({ effect }) =>
        effect === "deny"
      );
    }) ?? null;
    DENIED.set(forbidden, denied);
    return denied;
  }
}

/** The first name of a list that a rule denies. */
const DENIED = new WeakMap<readonly string[], string | null>();

/** The known names in one repository under one policy. */
interface Known {
  files: readonly string[];
  /** How many of them were looked at: a history grows. */
  count: number;
  forbidden: readonly string[];
  /** Whether a rule forbids a file or folder of that name, wherever it is. */
  names: Map<string, boolean>;
}

const KNOWN = new WeakMap<CompiledPolicy, Map<string, Known>>();

/** The tracked files that a rule forbids; a folder that it forbids as a whole counts once. */
function forbiddenIn(
  policy: CompiledPolicy,
  root: string,
  files: readonly string[],
  around: Surroundings,
  list: "index" | "history" = "index",
): readonly string[] {
  const all = KNOWN.get(policy) ?? new Map<string, Known>();
  KNOWN.set(policy, all);
  const key = JSON.stringify([list, root, around.roots, around.user_home, around.gate_home]);
  const known = all.get(key);
  const isGrown = known?.files === files;
  if (isGrown && known.count === files.length) return known.forbidden;
  const names = known && known.names.size < MOST_NAMES ? known.names : new Map<string, boolean>();
  const added = isGrown ? files.slice(known.count) : files;
  const found = search(policy, root, added, names, around);
  const forbidden = isGrown ? [...new Set([...known.forbidden, ...found])] : found;
  if (all.size >= MOST_ROOTS) all.clear();
  all.set(key, { files, count: files.length, forbidden, names });
  return forbidden;
}

const MOST_NAMES = 200_000;
const MOST_ROOTS = 100;

/** A folder during a search: forbidden, or with rules that a name alone does not decide. */
interface Folder {
  /** The topmost forbidden folder: this one or one above it. */
  forbidden: string | null;
  special: boolean;
}

/**
 * Most rules are about names, and most names recur. A full evaluation of each path would take
 * a second for a large repository, so only folders with other rules below them get one.
 */
function search(
  policy: CompiledPolicy,
  root: string,
  files: readonly string[],
  names: Map<string, boolean>,
  around: Surroundings,
): string[] {
  const forbidsName = compileNameTest(
    policy.paths.all.filter(({ effect, rule }) => effect !== "allow" && isNameRule(rule))
      .map(({ compiled }) => compiled),
  );
  const folders = new Map<string, Folder>();
  const found = new Set<string>();
  for (const file of files) {
    const at = file.lastIndexOf("/");
    const folder = folderAt(at < 0 ? "" : file.slice(0, at));
    if (folder.forbidden !== null) found.add(folder.forbidden);
    else if (isForbidden(file, folder)) found.add(file);
  }
  return [...found];

  function folderAt(path: string): Folder {
    const known = folders.get(path);
    if (known) return known;
    const at = path.lastIndexOf("/");
    const above = path === "" ? null : folderAt(at < 0 ? "" : path.slice(0, at));
    const forbidden = above === null
      ? null
      : above.forbidden ?? (isForbidden(path, above) ? path : null);
    const special = forbidden === null && (above === null || above.special) && isSpecial(path);
    folders.set(path, { forbidden, special });
    return { forbidden, special };
  }

  function isForbidden(path: string, above: Folder): boolean {
    if (byName(path.slice(path.lastIndexOf("/") + 1))) return true;
    if (!above.special) return false;
    meter.reset();
    return evaluateRead(policy, factsOf(root, path), around).length > 0;
  }

  function byName(name: string): boolean {
    const known = names.get(name);
    if (known !== undefined) return known;
    const answer = forbidsName(name);
    names.set(name, answer);
    return answer;
  }

  function isSpecial(path: string): boolean {
    meter.reset();
    const below = factsOf(root, path === "" ? DEEP : `${path}/${DEEP}`);
    return evaluateRead(policy, below, around).some(({ rule }) =>
      rule === null || !isNameRule(rule)
    );
  }
}
