import { decideCommand } from "./command_rules.ts";
import type { CompiledPolicy, Findings } from "./policy.ts";
import { builtin, type Finding, rank, rulesOf, toDecision } from "./finding.ts";
import { searchInput } from "./foreign_tool.ts";
import { meter } from "./meter.ts";
import type { NamedPaths } from "./named_paths.ts";
import { decidePath } from "./path_rules.ts";
import type { EvaluationOptions, Request, ToolRequest } from "./request.ts";
import type { Analysis, Decision, Rule } from "./schema.ts";
import type { Unit } from "./shell/unit.ts";
import { decideTool } from "./tool_rules.ts";

export { compilePolicy } from "./compile.ts";
export type { CompiledPolicy } from "./policy.ts";
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
}

/** Evaluates a request. Never throws: a request that cannot be evaluated is denied. */
export function evaluate(
  policy: CompiledPolicy,
  request: Request,
  options: EvaluationOptions,
): Evaluation {
  if (policy.error !== null) return denied("config-error", policy.error);
  meter.reset();
  try {
    const { findings, analysis = null, units = [], named = null } = decide(
      policy,
      request,
      options,
    );
    const ranked = rank(findings);
    const [winner] = ranked;
    return {
      decision: toDecision(winner!),
      matched: rulesOf(ranked),
      analysis,
      span: winner!.text ?? null,
      asks: ranked.filter(({ effect }) => effect === "ask"),
      units,
      named,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return denied("evaluation", `Cannot evaluate the policy: ${why}`);
  }
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
  const nothing = { analysis: null, span: null, asks: [], units: [], named: null };
  return { decision: toDecision(finding), matched: rulesOf([finding]), ...nothing };
}
