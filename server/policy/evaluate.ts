import { decideCommand } from "./command_rules.ts";
import type { CompiledPolicy, Findings, PolicyLayer } from "./policy.ts";
import { builtin, type Finding, rank, rulesOf, toDecision } from "./finding.ts";
import { searchInput } from "./foreign_tool.ts";
import { layersOf } from "./layers.ts";
import { strictness } from "./merge.ts";
import { meter } from "./meter.ts";
import type { NamedPaths } from "./named_paths.ts";
import { decidePath } from "./path_rules.ts";
import type { Proof } from "./prove/proved.ts";
import type { EvaluationOptions, Request, ToolRequest } from "./request.ts";
import type { Analysis, Decision, Rule } from "./schema.ts";
import type { Unit } from "./interpret/unit.ts";
import { decideTool } from "./tool_rules.ts";

export { compilePolicy } from "./compile.ts";
export { layersOf } from "./layers.ts";
export type { CompiledPolicy, PolicyLayer } from "./policy.ts";
export type { PolicyLayers } from "./merge.ts";
export type { EvaluationOptions, PathFacts, Request, Surroundings } from "./request.ts";

/** The decision with everything that led to it. */
export interface Evaluation {
  decision: Decision;
  /** Every rule that applied, the winner first. */
  matched: Rule[];
  analysis: Analysis | null;
  /** The part of the command that the winning rule is about, as written. */
  span: string | null;
  /** Every question for a person, even if a stricter rule decides. */
  asks: Finding[];
  /** The programs that the command runs. */
  units: Unit[];
  /** The paths that the command names. */
  named: NamedPaths | null;
  /** Of a command that is not denied: what it runs, if that is certain. */
  proof: Proof | null;
}

/** Evaluates a request. Never throws: a request that cannot be evaluated is denied. */
export function evaluate(
  policy: CompiledPolicy,
  request: Request,
  options: EvaluationOptions,
): Evaluation {
  if (policy.layers.length === 0) return evaluateLayer({ compiled: policy }, request, options);
  return strictestOf(
    layersOf(policy, options).map(({ layer, options }) => evaluateLayer(layer, request, options)),
  );
}

/** Evaluates a request under one layer. Never throws. */
export function evaluateLayer(
  { compiled, finding }: PolicyLayer,
  request: Request,
  options: EvaluationOptions,
): Evaluation {
  if (compiled.error !== null) return denied("config-error", compiled.error);
  meter.reset();
  try {
    const { findings, analysis = null, units = [], named = null, proof = null } = decide(
      compiled,
      request,
      options,
    );
    const ranked = rank(finding ? [...findings, finding] : findings);
    const [winner] = ranked;
    return {
      decision: toDecision(winner!),
      matched: rulesOf(ranked),
      analysis,
      span: winner!.text ?? null,
      asks: ranked.filter(({ effect }) => effect === "ask"),
      units,
      named,
      proof,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return denied("evaluation", `Cannot evaluate the policy: ${why}`);
  }
}

/** The strictest of several evaluations of one request, with everything that each found. */
export function strictestOf(found: readonly Evaluation[]): Evaluation {
  const [first, ...rest] = found;
  const strictest = rest.reduce(
    (best, next) =>
      strictness(next.decision.effect) > strictness(best.decision.effect) ? next : best,
    first!,
  );
  return {
    decision: strictest.decision,
    matched: uniqueRules(found.flatMap(({ matched }) => matched)),
    analysis: found.find(({ analysis }) => analysis !== null)?.analysis ?? null,
    span: strictest.span,
    asks: found.flatMap(({ asks }) => asks),
    units: found.flatMap(({ units }) => units),
    named: found.find(({ named }) => named !== null)?.named ?? null,
    proof: found.find(({ proof }) => proof !== null)?.proof ?? null,
  };
}

function decide(policy: CompiledPolicy, request: Request, options: EvaluationOptions): Findings {
  switch (request.kind) {
    case "path":
      return decidePath(policy, request, options);
    case "command":
      return decideCommand(policy, request, options);
    case "tool":
      return withInput(policy, request, options);
  }
}

/** The findings about a tool call, and about what its input names. */
function withInput(
  policy: CompiledPolicy,
  request: ToolRequest,
  options: EvaluationOptions,
): Findings {
  const found = decideTool(policy, request, options);
  if (!request.searches) return found;
  return { ...found, findings: [...found.findings, ...searchInput(policy, request, options)] };
}

function denied(list: string, reason: string): Evaluation {
  const finding = builtin("deny", list, "**", reason);
  const nothing = { analysis: null, span: null, asks: [], units: [], named: null, proof: null };
  return { decision: toDecision(finding), matched: rulesOf([finding]), ...nothing };
}

function uniqueRules(rules: readonly Rule[]): Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}
