import { resolve } from "node:path";
import type { RiskFactor } from "../policy/schema.ts";
import { commandCauses, isHarmless } from "./commands.ts";
import { contentCauses } from "./contents.ts";
import { customCauses } from "./custom.ts";
import type { Cause, FileAccess, RiskFacts } from "./facts.ts";
import { foreignCauses } from "./foreign.ts";
import { classOf, isMadeAgain, placeOf, secrecyOf } from "./paths.ts";
import type { Risk, RiskLevel } from "./schema.ts";

const MAX_FACTORS = 50;
/** More changed files than this are a large action. */
const MANY_FILES = 20;
const LARGE_BYTES = 1_048_576;

/** They say how unusual an action is, so they count in full beside every other factor. */
const CIRCUMSTANCES: readonly RiskFactor[] = ["first_time", "outside_hours", "burst"];

/**
 * The risk of an action. Equal facts give equal scores. The strongest factor counts in full, each
 * further one a share of its weight, so a pile of small factors is no catastrophe.
 */
export function assessRisk(facts: RiskFacts): Risk {
  const causes = [...fileCauses(facts), ...callCauses(facts), ...ruleCauses(facts)];
  return weigh([...causes, ...circumstanceCauses(facts, causes)], facts);
}

/** The level that a score has. */
export function levelOf(score: number): RiskLevel {
  if (score >= 75) return "critical";
  if (score >= 50) return "high";
  return score >= 25 ? "medium" : "low";
}

function weigh(causes: Cause[], { settings }: RiskFacts): Risk {
  const raw = new Map<string, { name: string; weight: number; why: string; more: number }>();
  for (const { name, why } of causes) {
    const weight = weightOf(name, settings);
    const known = raw.get(name);
    if (known) known.more++;
    else if (weight > 0) raw.set(name, { name, weight, why, more: 0 });
  }
  const isFlat = (name: string) => CIRCUMSTANCES.some((one) => one === name);
  const all = [...raw.values()].sort((a, b) => b.weight - a.weight);
  const ranked = all.filter(({ name }) => !isFlat(name));
  const shares = new Map(ranked.map(({ name, weight }, place) => [
    name,
    place === 0 ? weight : Math.floor(weight / (5 * place)),
  ]));
  const factors = all.map(({ name, weight, why, more }) => ({
    name,
    weight: shares.get(name) ?? weight,
    why: more > 0 ? `${why}, and ${more} more` : why,
  })).filter(({ weight }) => weight > 0).slice(0, MAX_FACTORS);
  const score = Math.min(100, factors.reduce((sum, { weight }) => sum + weight, 0));
  return { score, level: levelOf(score), factors };
}

function weightOf(name: string, { weights, classes }: RiskFacts["settings"]): number {
  if (Object.hasOwn(weights, name)) return weights[name as RiskFactor];
  return Math.max(0, ...classes.filter((one) => one.name === name).map(({ weight }) => weight));
}

/** The causes in the files that are changed or read, by a tool of files or by a command. */
function fileCauses(facts: RiskFacts): Cause[] {
  const { changes, accesses, analysis, cwd, root } = facts;
  const causes: Cause[] = [];
  const changed = new Set(changes.map(({ path }) => path));
  const folder = cwd ?? root;
  const of = (access: FileAccess["access"], paths: readonly string[]) =>
    paths.map((shown): FileAccess => ({ access, path: resolve(folder, shown), shown }));
  const named = analysis === null ? [] : [
    ...of("write", analysis.writes),
    ...of("delete", analysis.deletes),
    ...of("read", analysis.reads),
  ];
  const isMove = isPlainMove(facts);
  for (const change of changes) {
    if (isMove && change.after === null) continue;
    const access = change.after === null ? "delete" : "write";
    causes.push(...placeCauses({ access, path: change.path, shown: change.shown }, facts));
    causes.push(...changeCauses(change), ...contentCauses(change));
  }
  const moved = isMove && changes.find(({ after }) => after === null);
  if (moved) causes.push({ name: "moves", why: `moves "${moved.shown}"` });
  for (const one of [...accesses.filter(({ path }) => !changed.has(path)), ...named]) {
    causes.push(...placeCauses(one, facts));
  }
  causes.push(...deletionCauses(facts, of("delete", analysis?.deletes ?? [])));
  const sizes = changes.map(({ after }) => after?.bytes ?? 0);
  const touched = Math.max(changes.length, named.filter(({ access }) => access !== "read").length);
  if (touched >= MANY_FILES) causes.push({ name: "many_files", why: `changes ${touched} files` });
  const bytes = sizes.reduce((sum, one) => sum + one, 0);
  if (bytes >= LARGE_BYTES) causes.push({ name: "large", why: `writes ${bytes} bytes` });
  return causes;
}

function changeCauses({ shown, before, after }: RiskFacts["changes"][number]): Cause[] {
  if (after === null) return [];
  if (before === null) return [{ name: "creates", why: `creates "${shown}"` }];
  const causes: Cause[] = [{ name: "overwrites", why: `replaces the content of "${shown}"` }];
  if (after.bytes * 2 < before.bytes && before.bytes > 200) {
    causes.push({ name: "shrinks", why: `"${shown}" loses more than half of its bytes` });
  }
  if ((before.mode ?? 0) & 0o111) {
    causes.push({ name: "executable", why: `"${shown}" is executable` });
  }
  return causes;
}

/** The causes of risk that follow from the place of a file. */
function placeCauses({ access, path, shown }: FileAccess, facts: RiskFacts): Cause[] {
  const relative = isInside(path, facts.root) ? path.slice(facts.root.length + 1) : path;
  if (access === "read") {
    const secrecy = secrecyOf(relative);
    if (secrecy === null) return [];
    return [{
      name: secrecy === "private" ? "private_key_read" : "secret_read",
      why: `reads "${shown}", which holds secrets`,
    }];
  }
  const causes: Cause[] = [];
  const found = relative === "" ? null : classOf(relative);
  // A file that a build makes again is no source.
  if (found && !(access === "delete" && isMadeAgain(relative))) {
    const verb = access === "delete" ? "deletes" : "changes";
    causes.push({ name: found.name, why: `${verb} "${shown}": ${found.what}` });
  }
  const place = isInside(path, facts.root) ? null : placeOf(path);
  if (place === "device") {
    causes.push({ name: "destroys_machine", why: `writes to the disk "${shown}" itself` });
  } else if (place === "system") {
    causes.push({ name: "system_file", why: `changes "${shown}", a file of the system` });
  } else if (place === "outside") {
    causes.push({ name: "outside", why: `changes "${shown}", outside the project` });
  }
  return causes;
}

function deletionCauses(facts: RiskFacts, named: readonly FileAccess[]): Cause[] {
  const { changes, accesses, analysis } = facts;
  if (isPlainMove(facts)) return [];
  const planned = changes.filter(({ after }) => after === null);
  const asked = accesses.filter(({ access, path }) =>
    access === "delete" && !planned.some((one) => one.path === path)
  );
  const commands = analysis?.commands ?? [];
  const recursive = commands.some(isRecursive);
  const harmless = (shown: string) =>
    commands.some((argv) => isMoveOf(argv, shown) || isEmptyFolder(argv, shown));
  return [
    ...[...planned, ...asked].map(({ shown }): Cause => ({
      name: "deletes",
      why: `deletes "${shown}"`,
    })),
    ...named.filter(({ shown }) => !harmless(shown)).map(({ path, shown }): Cause => ({
      name: deletionOf(path, shown, recursive, facts),
      why: `deletes "${shown}"`,
    })),
  ];
}

function isRecursive([program = "", ...words]: string[]): boolean {
  if (/(^|\/)rimraf$/.test(program)) return true;
  return /(^|\/)(rm|find|fd|del|remove-item|trash|rsync)$/i.test(program) &&
    words.some((word) => /^-[a-zA-Z]*[rR]|^--recursive|^-delete$|^\/s$/.test(word));
}

/** A move keeps the content. */
function isMoveOf([program = "", ...words]: string[], shown: string): boolean {
  const moves = /(^|\/)mv$/.test(program) || (/(^|\/)git$/.test(program) && words[0] === "mv");
  return moves && words.includes(shown);
}

function isEmptyFolder([program = "", ...words]: string[], shown: string): boolean {
  return /(^|\/)rmdir$/.test(program) && words.includes(shown);
}

function deletionOf(
  path: string,
  shown: string,
  recursive: boolean,
  { root, user_home }: RiskFacts,
): RiskFactor {
  if (/(^|\/)\.git\/?$/.test(path) && recursive) return "loses_work";
  const isEverything = path === "/" || /^\/[^/]*\*?$/.test(path) || path === root ||
    isInside(root, path) || isInside(user_home, path) || path === user_home ||
    path === `${user_home}/*` ||
    (/(^|\/)(\*|\.\*|\{?\.\[!?)/.test(shown) && isInside(path, root) &&
      !path.slice(root.length + 1).includes("/"));
  if (recursive && isEverything && placeOf(path) !== null) return "deletes_everything";
  if (!recursive || isMadeAgain(shown) || /\.[a-z0-9]{1,5}$/i.test(shown)) {
    return "deletes";
  }
  return isInside(path, root) || placeOf(path) !== null ? "deletes_folder" : "deletes";
}

function callCauses(facts: RiskFacts): Cause[] {
  const { analysis, settings, is_foreign } = facts;
  const causes = [
    ...(analysis ? commandCauses(analysis, facts) : []),
    ...(is_foreign ? foreignCauses(facts) : []),
    ...customCauses(facts, settings),
  ];
  return causes;
}

/** Lists of builtin rules that say something that other factors say as well. */
const SAID = /^(budget|unproved|outside-root|too-large|control-character)$/;

function ruleCauses({ decision: { effect, rule, reason }, irreversible }: RiskFacts): Cause[] {
  const causes: Cause[] = [];
  if (irreversible !== null) causes.push({ name: "not_reversible", why: irreversible });
  if (rule === null || effect === "allow" || rule.source === "auto-block") return causes;
  if (rule.source !== "builtin") {
    causes.push(
      effect === "deny"
        ? { name: "forbidden", why: `a rule denies it: ${reason}` }
        : { name: "held_by_rule", why: `a rule asks about it: ${reason}` },
    );
  } else if (rule.list === "unresolved" || rule.list === "unparseable") {
    causes.push({ name: "unresolved", why: reason });
  } else if (!SAID.test(rule.list)) causes.push({ name: "guarded", why: reason });
  return causes;
}

function circumstanceCauses(
  { circumstances, analysis, changes, accesses }: RiskFacts,
  others: Cause[],
) {
  const { first_time, outside_hours, burst } = circumstances;
  const onlyReads = changes.length === 0 && accesses.every(({ access }) => access === "read") &&
    (analysis === null || isHarmless(analysis)) && others.length === 0;
  if (onlyReads) return [];
  const causes: Cause[] = [];
  if (first_time !== null) {
    causes.push({ name: "first_time", why: `the project has never seen ${first_time} before` });
  }
  if (outside_hours) causes.push({ name: "outside_hours", why: "it is outside the working hours" });
  if (burst !== null) {
    causes.push({ name: "burst", why: `the session's action number ${burst} within a minute` });
  }
  return causes;
}

/** The content goes to another path unchanged. */
function isPlainMove({ changes }: RiskFacts): boolean {
  const [to, from] = changes;
  return changes.length === 2 && to?.before === null && from?.after === null &&
    to.after?.sha256 === from.before?.sha256;
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
