import { builtin, byDefault, type Finding, hasSpoken } from "./finding.ts";
import { isWild, show } from "./holes.ts";
import { anchored, comparePath, namePath, type PathNames, type PathPattern } from "./match.ts";
import type { PathIndex } from "./path_index.ts";
import { protectData, protectWrite } from "./protect.ts";
import type { CompiledRule, PathFacts, Surroundings } from "./rule.ts";
import type { Effect } from "./schema.ts";

export type Access = "read" | "write" | "delete";

/** A path rule, compiled. */
export interface PathRule extends CompiledRule {
  compiled: PathPattern;
}

/** The path rules of a policy. */
export type PathRules = PathIndex<PathRule>;

/** What the rules say of one path; the strictest finding decides. */
export function judgePath(
  index: PathRules,
  access: Access,
  facts: PathFacts,
  around: Surroundings,
): Finding[] {
  const refused = malformed(facts.lexical);
  if (refused.length > 0) return refused;
  const paths = facts.lexical === facts.real ? [facts.real] : [facts.lexical, facts.real];
  const names = paths.map((path) => namePath(path, around.roots, around.user_home));
  const found = [...protectData(names, around.gate_home)];
  const rules = index.about(names);
  const spoken = rules.map((rule) => apply(rule, names)).filter((finding) => finding !== null);
  found.push(...spoken);
  if (access !== "read") found.push(...protectWrite(names));
  if (access === "delete" && holdsRoot(names.at(-1)!, around)) {
    found.push(builtin("ask", "never-automatic", "/", "This deletes the project's own folder"));
  }
  if (isWild(facts.lexical)) {
    if (access !== "read") found.push(unknownTarget(access, facts.lexical));
  } else if (names.at(-1)!.roots.length === 0) {
    found.push(outside(facts.real, names, rules));
  }
  return found;
}

function holdsRoot({ path, roots }: PathNames, around: Surroundings): boolean {
  if (roots.some((below) => below.plain.length === 0)) return true;
  return around.roots.some((root) => root.startsWith(path === "/" ? path : `${path}/`));
}

/** A path inside the project as its people call it. */
function shown(path: string, { roots }: Surroundings): string {
  const root = roots.find((one) => path.startsWith(`${one}/`));
  return show(root === undefined ? path : path.slice(root.length + 1));
}

/** As `judgePath`, with the default where no rule speaks. */
export function decidePath(
  index: PathRules,
  access: Access,
  facts: PathFacts,
  around: Surroundings & { defaultEffect: Effect },
): Finding[] {
  const found = judgePath(index, access, facts, around);
  if (hasSpoken(found)) return found;
  return [...found, byDefault(around.defaultEffect, `"${shown(facts.lexical, around)}"`)];
}

/** Reading by a command or by a host's own tool: only what blocks or asks speaks of it. */
export function judgePlainRead(
  index: PathRules,
  facts: PathFacts,
  around: Surroundings,
): Finding[] {
  return judgePath(index, "read", facts, around).filter((one) =>
    one.effect !== "allow" && !LEFT_TO_READ.has(one.rule?.list ?? "")
  );
}

/** What is no reason against reading. */
const LEFT_TO_READ = new Set(["outside-root", "malformed-path"]);

/** As `judgePlainRead`, with an answer where nothing forbids it. */
export function decidePlainRead(
  index: PathRules,
  facts: PathFacts,
  around: Surroundings,
): Finding[] {
  const found = judgePlainRead(index, facts, around);
  if (found.length > 0) return found;
  return [byDefault("allow", `reading ${show(facts.lexical)}`)];
}

function apply(rule: PathRule, names: PathNames[]): Finding | null {
  const { effect, reason, alternative } = rule;
  const forbids = effect !== "allow";
  const matches = names.map((one) => comparePath(rule.compiled, one, forbids));
  const said = { rule: rule.rule, alternative };
  if (!forbids) {
    return matches.every((match) => match === "yes") ? { effect, reason, ...said } : null;
  }
  if (matches.includes("yes")) return { effect, reason, ...said };
  if (!matches.includes("maybe")) return null;
  const unsure = true;
  return { effect: "ask", reason: `${reason} (the path is not fully known)`, ...said, unsure };
}

/** Outside every root: denied, or held when a rule of the policy names the path. */
function outside(real: string, names: PathNames[], rules: readonly PathRule[]): Finding {
  const named = rules.some((rule) =>
    rule.effect !== "deny" &&
    names.every((one) => comparePath(anchored(rule.compiled), one, false) === "yes")
  );
  const effect = named ? "ask" : "deny";
  return builtin(effect, "outside-root", "**", `"${show(real)}" is outside the project`);
}

function unknownTarget(access: Access, path: string): Finding {
  const reason = `It is not known what "${show(path)}" stands for, so nobody can say what this ` +
    (access === "delete" ? "deletes" : "writes");
  return builtin("ask", "unresolved", "$…", reason);
}

const HIDDEN =
  // deno-lint-ignore no-control-regex
  /[\x00-\x1f\x7f-\x9f\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

const BLANK_NAME = /(?:^|\/)\s+(?:\/|$)/;

/** Names that deceive a person or that no file system takes. */
function malformed(path: string): Finding[] {
  const why = path.length > 4_096
    ? "it is longer than 4,096 characters"
    : HIDDEN.test(path)
    ? "it has control or invisible characters"
    : path.length > 255 && path.split("/").some((name) => name.length > 255)
    ? "one of its names is longer than 255 characters"
    : path.includes("\\")
    ? "a backslash is a separator on some systems"
    : BLANK_NAME.test(path)
    ? "one of its names is blank"
    : null;
  return why ? [builtin("deny", "malformed-path", "**", `Cannot use the path: ${why}`)] : [];
}
