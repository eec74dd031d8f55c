import { decideCommand } from "./command_rules.ts";
import { contain, withFolders } from "./contain.ts";
import type { CompiledPolicy, Evaluation, Findings, PolicyLayer } from "./policy.ts";
import { builtin, type Finding, keyOf, rank, rulesOf, toDecision } from "./finding.ts";
import { searchInput } from "./foreign_tool.ts";
import { layersOf } from "./layers.ts";
import { strictness } from "./merge.ts";
import { meter } from "./meter.ts";
import { decidePath } from "./path_rules.ts";
import type { EvaluationOptions, Request, ToolRequest } from "./request.ts";
import type { Rule } from "./schema.ts";
import { decideSearch } from "./search_rules.ts";
import { decideTool } from "./tool_rules.ts";

export { compilePolicy } from "./compile.ts";
export { layersOf } from "./layers.ts";
export type { CompiledPolicy, Evaluation, PolicyLayer } from "./policy.ts";
export type { PolicyLayers } from "./merge.ts";
export type { EvaluationOptions, PathFacts, Request, Surroundings } from "./request.ts";

/** Evaluates a request. Never throws: a request that cannot be evaluated is denied. */
export function evaluate(
  policy: CompiledPolicy,
  request: Request,
  given: EvaluationOptions,
): Evaluation {
  const options = request.kind === "command" ? withFolders(policy, given) : given;
  const found = policy.layers.length === 0
    ? evaluateLayer({ compiled: policy }, request, options)
    : strictestOf(
      layersOf(policy, options).map(({ layer, options }) => evaluateLayer(layer, request, options)),
    );
  return request.kind === "command" ? contain(found, policy, options) : found;
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
    const found = decide(compiled, request, options);
    const { findings, analysis = null, units = [], named = null, proof = null } = found;
    const ranked = rank(finding ? [...findings, finding] : findings);
    const [winner] = ranked;
    return {
      decision: toDecision(winner!),
      matched: rulesOf(ranked),
      unsure: unsureOf(ranked),
      analysis,
      span: winner!.text ?? null,
      asks: ranked.filter(({ effect }) => effect === "ask"),
      units,
      named,
      proof,
      obstacles: found.obstacles ?? none,
      outside: null,
      sandbox_refused: null,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return denied("evaluation", `Cannot evaluate the policy: ${why}`);
  }
}

/** The strictest of several evaluations of one request, with everything that each found. */
export function strictestOf(found: readonly Evaluation[]): Evaluation {
  const [first, ...rest] = found;
  if (rest.length === 0) return first!;
  const strictest = rest.reduce(
    (best, next) =>
      strictness(next.decision.effect) > strictness(best.decision.effect) ? next : best,
    first!,
  );
  return {
    decision: strictest.decision,
    matched: uniqueRules(found.flatMap(({ matched }) => matched)),
    unsure: uniqueRules(found.flatMap(({ unsure }) => unsure)),
    analysis: found.find(({ analysis }) => analysis !== null)?.analysis ?? null,
    span: strictest.span,
    asks: found.flatMap(({ asks }) => asks),
    units: found.flatMap(({ units }) => units),
    named: found.find(({ named }) => named !== null)?.named ?? null,
    proof: found.find(({ proof }) => proof !== null)?.proof ?? null,
    obstacles: () => [...new Set(found.flatMap(({ obstacles }) => obstacles()))],
    outside: strictest.outside,
    sandbox_refused: strictest.sandbox_refused,
  };
}

function decide(policy: CompiledPolicy, request: Request, options: EvaluationOptions): Findings {
  switch (request.kind) {
    case "path":
      return decidePath(policy, request, options);
    case "search":
      return decideSearch(policy, request, options);
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
  return { ...nothingFound, decision: toDecision(finding), matched: rulesOf([finding]) };
}

const none = () => [];

/** The parts of an evaluation that only a command has. */
export const nothingFound = {
  unsure: [],
  analysis: null,
  span: null,
  asks: [],
  units: [],
  named: null,
  proof: null,
  obstacles: none,
  outside: null,
  sandbox_refused: null,
};

/** The rules that no finding is sure about. */
function unsureOf(findings: readonly Finding[]): Rule[] {
  if (!findings.some(({ unsure }) => unsure)) return [];
  const sure = new Set(rulesOf(findings.filter(({ unsure }) => !unsure)).map(keyOf));
  return rulesOf(findings.filter(({ unsure }) => unsure)).filter((rule) => !sure.has(keyOf(rule)));
}

function uniqueRules(rules: readonly Rule[]): Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}
