import {
  EVERYTHING,
  type Found,
  nameOf,
  type Pattern,
  searchBelow,
  splitDeep,
  type TooMany,
} from "./below.ts";
import type { Finding } from "./finding.ts";
import { isStatic } from "./holes.ts";
import { filesOf } from "./interpret/globs.ts";
import type { Effect } from "./interpret/unit.ts";
import { meter } from "./meter.ts";
import { evaluateRead, withoutDoubt } from "./path_rules.ts";
import type { CompiledPolicy } from "./policy.ts";
import type { PathFacts, Surroundings } from "./request.ts";
import type { Rule } from "./schema.ts";

/**
 * The findings about a program that reads what is below a folder: one for each forbidden file that
 * is there. Null if the disk cannot tell.
 */
export function evaluateBelow(
  policy: CompiledPolicy,
  effect: Effect,
  around: Surroundings,
  describe: (path: string) => string = (path) => `it reads "${path}" below this folder`,
): Finding[] | null {
  const place = splitDeep(effect.path);
  const { list, resolve } = around;
  if (place === null || !list) return null;
  const possible = evaluateRead(policy, resolve(effect.path), around);
  if (possible.length === 0) return [];
  const folders = isStatic(place.folder)
    ? [place.folder]
    : filesOf(place.folder, list, { reads: true });
  if (folders === null) return null;
  const below = effect.below ?? VAGUE;
  const isForbidden = (facts: PathFacts) => {
    meter.reset();
    return evaluateRead(policy, facts, around).length > 0;
  };
  const byName = possible.every(({ rule }) => rule !== null && isNameRule(rule))
    ? rememberNames(isForbidden)
    : isForbidden;
  let splits = false;
  const findings = folders.flatMap((folder) => {
    const start = resolve(folder);
    const found = searchBelow(start, {
      below: { ...below, only: [...below.only, ...place.only] },
      cwd: effect.from ?? folder,
      list: (path) => {
        const entries = list(path);
        splits ||= !effect.below && (entries ?? []).some(({ name }) => SPLITS.test(name));
        return entries;
      },
      resolve,
      ignored: (around.ignored?.(start.real) ?? []).map(ignoredOf).filter((one) => one !== null),
      takesBack: around.takes_back ?? (() => true),
      isForbidden: (facts, kind) => kind === "link" ? isForbidden(facts) : byName(facts),
    });
    if (!Array.isArray(found)) return possible.map((one) => tooMany(one, found, effect));
    const alternative = leaveOut(found, folder, effect);
    return found.flatMap((one) =>
      evaluateRead(policy, one.facts, around).map((finding) => ({
        ...finding,
        effect: below.vague && finding.effect === "deny" ? "ask" as const : finding.effect,
        reason: `${finding.reason} (${describe(one.relative)})`,
        alternative: alternative ?? finding.alternative,
      }))
    );
  });
  return splits && findings.length === 0 ? null : findings;
}

/** A list of files that another program chose; a reader of it follows links. */
const VAGUE = { ...EVERYTHING, vague: true, links: true };

/** A name that a shell or `xargs` may read as several, or as another one. */
const SPLITS = /[\s"'\\*?[]/;

/** An entry of the list of ignored files: a name, or the absolute path of one. */
function ignoredOf(entry: string): Pattern | null {
  if (!entry.startsWith("/")) return nameOf(entry);
  const kind = entry.endsWith("/") ? "folder" : "any";
  return { glob: entry.replace(/\/$/, ""), kind, is_path: true };
}

/** Whether only the name of a file or folder decides, because the rule names no folder around it. */
export function isNameRule({ pattern, source }: Rule): boolean {
  const name = pattern.startsWith("**/")
    ? pattern.replace(/^(\*\*\/)+/, "").replace(/(\/\*\*)+\/*$/, "")
    : pattern;
  return source !== "builtin" && !/^[~$]|\/[^/]/.test(name);
}

/** Asks once for each name: the folders above a file are known not to be forbidden. */
function rememberNames(isForbidden: (facts: PathFacts) => boolean) {
  const known = new Map<string, boolean>();
  return (facts: PathFacts) => {
    const name = facts.lexical.slice(facts.lexical.lastIndexOf("/") + 1);
    const answer = known.get(name) ?? isForbidden(facts);
    known.set(name, answer);
    return answer;
  };
}

function tooMany(finding: Finding, { largest }: TooMany, { below }: Effect): Finding {
  const reason = `${withoutDoubt(finding.reason)} (too many files are below this folder to tell)`;
  const option = below?.leave_out?.folder.replace(/\{(name|path)\}/, largest ?? "");
  const alternative = option && largest !== null
    ? `Name the folders to read, or add ${option}`
    : "Name the folders to read";
  return { ...finding, reason, alternative };
}

/** The options that leave out what was found; null if the program has none. */
function leaveOut(found: readonly Found[], folder: string, { below, from }: Effect): string | null {
  const options = below?.leave_out;
  if (!options) return null;
  const given = found.map(({ kind, relative }) => {
    const name = relative.slice(relative.lastIndexOf("/") + 1);
    const path = folder === from
      ? relative
      : `${folder.slice((from?.length ?? 0) + 1)}/${relative}`;
    const value = { name, path };
    return options[kind].replace(/\{(name|path)\}/, (_, key: "name" | "path") => value[key]);
  });
  return `Add ${[...new Set(given)].join(" ")}`;
}
