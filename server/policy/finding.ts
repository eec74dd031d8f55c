import type { PathFacts } from "./request.ts";
import type { Decision, Effect, Rule } from "./schema.ts";
import type { Unit, Unknown } from "./interpret/unit.ts";

/** A rule of a list; path, command and tool rules add their compiled pattern. */
export interface CompiledRule {
  rule: Rule;
  effect: Effect;
  reason: string;
  alternative: string | null;
}

/** The effect of one rule, or of the default, on one part of a request. */
export interface Finding {
  effect: Effect;
  /** Null for the default effect. */
  rule: Rule | null;
  reason: string;
  alternative: string | null;
  /** The rule may or may not match, so the default applies as well. */
  unsure?: boolean;
  /** The part of the command that the finding is about. */
  text?: string;
  /** The one file or the one program that the finding is about. */
  about?: About;
  /** It is about a file of the command, and a sandbox hides that file or lets nobody write it. */
  is_walled?: boolean;
  /** The thing that gate does not know, if it asks about nothing else. */
  unknown?: Unknown;
  /** It is a question for a sandbox that answers it; else this finding applies, mostly a denial. */
  denied?: Finding;
}

/** The one file or the one program that a person is asked about. */
export type About = { path: PathFacts } | { unit: Unit };

/** The list of the builtin rule about commands that are not proved. */
export const UNPROVED = "unproved";
/** The list of the builtin rule about links in git's folder. A sandbox hides their targets. */
export const GIT_LINK = "git-link";

/** The finding of a rule that certainly matches. */
export function findingOf({ effect, rule, reason, alternative }: CompiledRule): Finding {
  return { effect, rule, reason, alternative };
}

/** A finding of a rule that cannot be removed. */
export function builtin(effect: Effect, list: string, pattern: string, reason: string): Finding {
  return { effect, rule: { pattern, list, source: "builtin" }, reason, alternative: null };
}

/** The finding that applies if no rule matches `subject`. */
export function byDefault(effect: Effect, subject: string): Finding {
  const reason = `No rule matches ${subject}, so the default applies: ${effect}`;
  return { effect, rule: null, reason, alternative: null };
}

/** Whether a rule of the policy certainly matches; only then the default does not apply. */
export function hasMatch(findings: readonly Finding[]): boolean {
  return findings.some(({ rule, unsure }) => rule !== null && rule.source !== "builtin" && !unsure);
}

/**
 * Whether the finding comes from a rule that cannot be removed. A command that is not proved is no
 * such question: a person who remembers exactly this command has settled it.
 */
export function isBuiltin({ rule }: Finding): boolean {
  return rule?.source === "builtin" && rule.list !== UNPROVED;
}

/** Sorts the findings: the strictest first, equally strict ones by their source. */
export function rank(findings: readonly Finding[]): readonly Finding[] {
  return findings.length < 2 ? findings : findings.toSorted((a, b) => weight(b) - weight(a));
}

const EFFECT_WEIGHT: Record<Effect, number> = { deny: 100, ask: 50, allow: 0 };
const SOURCE_WEIGHT = { builtin: 4, global: 3, project: 2, "auto-block": 1 } as const;

function weight({ effect, rule }: Finding): number {
  // An unknown value explains more than one of the many rules that it might match.
  const unresolved = rule?.list === "unresolved" ? 0.5 : 0;
  // Every other question says more about the command.
  if (rule?.list === UNPROVED) return EFFECT_WEIGHT[effect] - 1;
  return EFFECT_WEIGHT[effect] + (rule ? SOURCE_WEIGHT[rule.source] : 0) + unresolved;
}

/** The decision that a finding makes. */
export function toDecision({ effect, rule, reason, alternative }: Finding): Decision {
  return { effect, rule, reason, alternative, sandbox: null };
}

/** The rules that applied, each once, in the order of the findings. */
export function rulesOf(findings: readonly Finding[]): Rule[] {
  const rules = new Set<Rule>();
  for (const { rule } of findings) if (rule) rules.add(rule);
  if (rules.size < 2) return [...rules];
  // A builtin rule is made anew for each finding.
  const seen = new Map<string, Rule>();
  for (const rule of rules) seen.set(keyOf(rule), rule);
  return [...seen.values()];
}

/** Tells rules apart. */
export function keyOf({ source, list, pattern }: Rule): string {
  return `${source} ${list} ${pattern}`;
}
