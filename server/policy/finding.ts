import type { PathFacts } from "./rule.ts";
import type { Decision, Effect, Rule } from "./schema.ts";
import type { Unit } from "./shell/unit.ts";

/** One rule's word on one part of a request. */
export interface Finding {
  effect: Effect;
  rule: Rule | null;
  reason: string;
  alternative: string | null;
  /** The rule may match: nobody can know. The default holds beside it. */
  unsure?: boolean;
  /** The part of a command it speaks of. */
  text?: string;
  /** The one file or the one program it speaks of. */
  about?: About;
}

/** What a question to a person is about, where it is one file or one program. */
export type About = { path: PathFacts } | { unit: Unit };

/** Whether a rule of the policy has certainly spoken; only then the default is silent. */
export function hasSpoken(findings: readonly Finding[]): boolean {
  return findings.some(({ rule, unsure }) => rule !== null && rule.source !== "builtin" && !unsure);
}

/** Whether it comes from what cannot be removed. */
export function isBuiltin({ rule }: Finding): boolean {
  return rule?.source === "builtin";
}

/** A finding of a rule that cannot be removed. */
export function builtin(effect: Effect, list: string, pattern: string, reason: string): Finding {
  return { effect, rule: { pattern, list, source: "builtin" }, reason, alternative: null };
}

/** What holds when no rule speaks. */
export function byDefault(effect: Effect, what: string): Finding {
  const reason = `No rule speaks of ${what}; the default is ${effect}`;
  return { effect, rule: null, reason, alternative: null };
}

/** Every finding, the one that decides first: the strictest, and of equals the most binding. */
export function rank(findings: readonly Finding[]): Finding[] {
  return findings.map((finding, at) => ({ finding, at }))
    .sort((a, b) => weight(b.finding) - weight(a.finding) || a.at - b.at)
    .map(({ finding }) => finding);
}

const EFFECT_WEIGHT: Record<Effect, number> = { deny: 100, ask: 50, allow: 0 };
const SOURCE_WEIGHT = { builtin: 4, global: 3, project: 2, "auto-block": 1 } as const;

function weight(finding: Finding): number {
  const { effect, rule } = finding;
  // Of equals, "nobody can know" says more than one of the many rules that might be meant.
  const plain = rule?.list === "unresolved" ? 0.5 : 0;
  return EFFECT_WEIGHT[effect] + (rule ? SOURCE_WEIGHT[rule.source] : 0) + plain;
}

/** The decision a finding amounts to. */
export function toDecision(finding: Finding): Decision {
  const { effect, rule, reason, alternative } = finding;
  return { effect, rule, reason, alternative };
}

/** The rules that applied, each once, in the order of the findings. */
export function rulesOf(findings: readonly Finding[]): Rule[] {
  const seen = new Map<string, Rule>();
  for (const { rule } of findings) {
    if (rule) seen.set(`${rule.source} ${rule.list} ${rule.pattern}`, rule);
  }
  return [...seen.values()];
}
