import { builtin, byDefault, type Finding, findingOf, hasMatch } from "./finding.ts";
import { isWild, show } from "./holes.ts";
import { anchored, matchPath, namePath, type PathNames } from "./path_match.ts";
import { protectData, protectGit, protectWrite } from "./protect.ts";
import type { CompiledPolicy, Decide, PathRule, PathRules } from "./policy.ts";
import type { Access, PathFacts, PathRequest, Surroundings } from "./request.ts";
import { matchOwnTool } from "./tool_rules.ts";

/** Evaluates an access to one file: tool rules, path rules, self-protection, the default. */
export const decidePath: Decide<PathRequest> = (policy, request, options) => {
  const { access, path } = request;
  const about = { path };
  if (request.is_plain_read && access === "read") {
    const found = evaluateRead(policy, path, options);
    if (found.length === 0) found.push(byDefault("allow", `reading ${show(path.lexical)}`));
    return { findings: found.map((one) => ({ ...one, about })) };
  }
  const tool = toolFindings(policy, request);
  const isRoot = access !== "read" && options.roots.includes(path.real);
  const own = isRoot ? [ROOT_ITSELF] : evaluateAccess(policy, access, path, options);
  const kept = tool.length > 0 ? own.filter((one) => one.rule !== null) : own;
  return { findings: [...tool, ...kept.map((one) => ({ ...one, about }))] };
};

/** Allowing a tool that writes does not allow every target; allowing one that reads does. */
function toolFindings(policy: CompiledPolicy, { tool, access }: PathRequest): Finding[] {
  if (tool === undefined) return [];
  return matchOwnTool(policy, { tool, input: {} })
    .filter(({ effect }) => effect !== "allow" || access === "read");
}

const ROOT_ITSELF = builtin("deny", "malformed-path", "/", "This is the project's own folder");

/** The findings about one access, with the default if no rule matches. */
export function evaluateAccess(
  policy: CompiledPolicy,
  access: Access,
  facts: PathFacts,
  around: Surroundings,
): Finding[] {
  const found = matchRules(policy.paths, access, facts, around);
  if (hasMatch(found)) return found;
  return [...found, byDefault(policy.defaultEffect, `"${shown(facts.lexical, around)}"`)];
}

/** The rules that block or ask about a read by a program or by a host's own tool. */
export function evaluateRead(
  policy: CompiledPolicy,
  facts: PathFacts,
  around: Surroundings,
): Finding[] {
  return matchRules(policy.paths, "read", facts, around).filter(({ effect, rule }) =>
    effect !== "allow" && rule?.list !== "outside-root" && rule?.list !== "malformed-path"
  );
}

function matchRules(
  index: PathRules,
  access: Access,
  facts: PathFacts,
  around: Surroundings,
): Finding[] {
  const { malformed, names, rules, forAll } = lookUp(index, facts, around);
  if (malformed !== null) return [malformed];
  const found = [...forAll];
  if (access !== "read") {
    found.push(...protectWrite(names));
    found.push(...protectGit(facts.real || facts.lexical, around));
  }
  if (access === "delete" && holdsRoot(names.at(-1)!, around)) {
    found.push(builtin("ask", "never-automatic", "/", "This deletes the project's own folder"));
  }
  if (names.some(({ path }) => path.startsWith("/proc/") && OF_A_PROCESS.test(path))) {
    found.push(throughProcess(facts.lexical));
  }
  if (names.some(({ path }) => ANY_FILE.test(path))) found.push(anyFile(facts.lexical));
  if (access === "delete") found.push(...holdsHome(names, around));
  if (isWild(facts.lexical)) {
    if (access !== "read") found.push(unknownTarget(access, facts.lexical));
  } else if (names.at(-1)!.roots.length === 0 && !around.is_guest) {
    found.push(outside(facts, names, rules));
  }
  return found;
}

/** The findings about a path that hold for every access. */
interface LookedUp {
  malformed: Finding | null;
  names: PathNames[];
  rules: readonly PathRule[];
  forAll: readonly Finding[];
}

/** A word that may be read or written is looked up once: the last answer is kept. */
function lookUp(index: PathRules, facts: PathFacts, around: Surroundings): LookedUp {
  const { lexical, real } = facts;
  const { roots, user_home, gate_home } = around;
  const isSame = last !== null && last.lexical === lexical && last.real === real &&
    last.index === index && last.roots === roots && last.user_home === user_home &&
    last.gate_home === gate_home;
  if (!isSame) {
    const found = lookUpNew(index, facts, around);
    last = { index, lexical, real, roots, user_home, gate_home, found };
  }
  return last!.found;
}

let last:
  | Pick<Surroundings, "roots" | "user_home" | "gate_home"> & PathFacts & {
    index: PathRules;
    found: LookedUp;
  }
  | null = null;

function lookUpNew(
  index: PathRules,
  { lexical, real }: PathFacts,
  { roots, user_home, gate_home }: Surroundings,
): LookedUp {
  const why = malformedBecause(lexical);
  if (why !== null) {
    const malformed = builtin("deny", "malformed-path", "**", `Cannot use the path: ${why}`);
    return { malformed, names: [], rules: [], forAll: [] };
  }
  const paths = lexical === real ? [real] : [lexical, real];
  const names = paths.map((path) => namePath(path, roots, user_home));
  const rules = index.candidates(names);
  const forAll = protectData(names, gate_home);
  for (const rule of rules) {
    const finding = apply(rule, names);
    if (finding !== null) forAll.push(finding);
  }
  return { malformed: null, names, rules, forAll };
}

/** Why a path deceives a reader or fits no file system; null for an ordinary path. */
function malformedBecause(path: string): string | null {
  if (path.length > 4_096) return "it is longer than 4,096 characters";
  const isPrintable = PRINTABLE.test(path);
  if (!isPrintable && HIDDEN.test(path)) return "it has control or invisible characters";
  const most = isPrintable ? MOST_BYTES : MOST_BYTES / 3;
  if (path.length > most && path.split("/").some(isTooLong)) {
    return `one of its names is longer than ${MOST_BYTES} bytes`;
  }
  if (path.includes("\\")) return "a backslash is a separator on some systems";
  if (isPrintable && !path.includes(" ")) return null;
  return BLANK_NAME.test(path) ? "one of its names is blank" : null;
}

/** The longest name of a file; a character of UTF-16 has at most three bytes. */
const MOST_BYTES = 255;

function isTooLong(name: string): boolean {
  return name.length > MOST_BYTES / 3 && new TextEncoder().encode(name).length > MOST_BYTES;
}

/** Most paths are plain ASCII, which one look tells. */
const PRINTABLE = /^[\x20-\x7e]*$/;

const HIDDEN =
  // deno-lint-ignore no-control-regex
  /[\x00-\x1f\x7f-\x9f\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

const BLANK_NAME = /(?:^|\/)\s+(?:\/|$)/;

function apply(rule: PathRule, names: PathNames[]): Finding | null {
  const forbids = rule.effect !== "allow";
  let [yes, maybe] = [0, 0];
  for (const one of names) {
    const match = matchPath(rule.compiled, one, forbids);
    if (match === "yes") yes++;
    else if (match === "maybe") maybe++;
  }
  if (!forbids) return yes === names.length ? findingOf(rule) : null;
  if (yes > 0) return findingOf(rule);
  if (maybe === 0) return null;
  const reason = `${rule.reason} (the path "${show(names.at(-1)!.path)}" is not fully known)`;
  return { ...findingOf(rule), effect: "ask", reason, unsure: true };
}

/** A reason without its doubt about the path, for another reason to doubt. */
export function withoutDoubt(reason: string): string {
  return reason.replace(/ \(the path "[^]*" is not fully known\)$/, "");
}

function holdsRoot({ path, roots }: PathNames, around: Surroundings): boolean {
  if (roots.some((below) => below.plain.length === 0)) return true;
  return around.roots.some((root) => root.startsWith(path === "/" ? path : `${path}/`));
}

/**
 * A link that the kernel follows for the process that asks, so gate cannot tell which file it means,
 * and what other processes hold in memory, such as the keys in their variables.
 */
export const OF_A_PROCESS =
  /^\/proc\/[^/]+(?:\/task\/[^/]+)?\/(?:(?:cwd|root|exe|fd\/[^/]+|map_files\/)(?:\/|$)|(?:environ|mem)$)/;

/** The finding about a path that leads through a process. */
export function throughProcess(path: string): Finding {
  const reason = /\/(environ|mem)$/.test(path)
    ? `"${show(path)}" shows the memory of a process, in which there may be keys`
    : `"${show(path)}" names a file through a process, so gate cannot tell which file; ` +
      "use the file's own path";
  return builtin("ask", "unresolved", "/proc/*", reason);
}

/** Disks and memory, in which each file is, and terminals and keyboards, on which a person types. */
const ANY_FILE =
  /^\/(?:dev\/(?:(?:[shv]d|xvd|nvme|mmcblk|loop|dm-|md|nbd|zram|sr|r?disk|ram|hidraw|vcs)\w*|(?:mapper|disk|block|input|pts)\/.+|k?mem|port|console|tty(?:\d+|s\d+)?)|proc\/kcore)$/;

function anyFile(path: string): Finding {
  const reason = `"${show(path)}" may show any file, or what a person types`;
  return builtin("ask", "unresolved", "/dev/*", reason);
}

/** Denies to delete or move a folder with the gate's data or the user's home in it. */
function holdsHome(names: PathNames[], { gate_home, user_home }: Surroundings): Finding[] {
  const kept = [gate_home, user_home].find((home) =>
    names.some(({ path }) => home === path || home.startsWith(path === "/" ? path : `${path}/`))
  );
  if (kept === undefined) return [];
  const reason = `"${kept}" is off limits: it holds what the gate works with`;
  return [builtin("deny", "self-protection", kept, reason)];
}

/** Outside every root: asks if a rule of the policy names the path, else denies. */
function outside(facts: PathFacts, names: PathNames[], rules: readonly PathRule[]): Finding {
  const { real, unresolved } = facts;
  if (unresolved !== undefined) return builtin("deny", "outside-root", "**", unresolved);
  const named = rules.some((rule) =>
    rule.effect !== "deny" &&
    names.every((one) => matchPath(anchored(rule.compiled), one, false) === "yes")
  );
  const effect = named ? "ask" : "deny";
  const finding = builtin(effect, "outside-root", "**", `"${show(real)}" is outside the project`);
  return { ...finding, alternative: named ? null : "Use a path in the project" };
}

function unknownTarget(access: Access, path: string): Finding {
  const reason = `The value of "${show(path)}" is unknown, so gate cannot tell which file this ` +
    (access === "delete" ? "deletes" : "writes");
  const finding = builtin("ask", "unresolved", "$…", reason);
  return access === "delete" ? finding : { ...finding, unknown: "files" };
}

/** A path in the project without the project's folder. */
function shown(path: string, { roots }: Surroundings): string {
  const root = roots.find((one) => path.startsWith(`${one}/`));
  return show(root === undefined ? path : path.slice(root.length + 1));
}
