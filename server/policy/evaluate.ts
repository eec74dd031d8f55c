import { decideCommand } from "./command_decision.ts";
import { type CompiledPolicy, compilePolicyRules } from "./compile.ts";
import { builtin, type Finding, rank, rulesOf, toDecision } from "./finding.ts";
import type { PolicyLayers } from "./merge.ts";
import { meter } from "./meter.ts";
import { decidePath, decidePlainRead } from "./path_decision.ts";
import type { PathFacts, Surroundings } from "./rule.ts";
import type { Analysis, Decision, Rule } from "./schema.ts";
import type { Unit } from "./shell/unit.ts";
import { judgeOwnTool, judgeTool } from "./tool_decision.ts";

export type { CompiledPolicy } from "./compile.ts";
export type { PolicyLayers } from "./merge.ts";
export type { PathFacts, Surroundings } from "./rule.ts";

/** What somebody wants to do. `tool` is the name the host calls it by, for the tool rules. */
export type Request =
  | {
    kind: "path";
    access: "read" | "write" | "delete";
    path: PathFacts;
    tool?: string;
    /** A read by what is no tool of the gate: only what blocks or asks speaks of it. */
    is_plain_read?: boolean;
  }
  | { kind: "command"; command: string; cwd: string; tool?: string }
  | { kind: "tool"; tool: string; input: Record<string, unknown> };

/** The decision with everything that led to it. */
export interface Evaluation {
  decision: Decision;
  /** Every rule that applied, the winner first. */
  matched: Rule[];
  analysis: Analysis | null;
  /** The part of a command that the winner speaks of, as it is written there. */
  span: string | null;
  /** Everything that has to be asked of a person, also where something stricter decides. */
  asks: Finding[];
  /** The programs of a command, as it was understood. */
  units: Unit[];
}

/** Merges and checks the layers. @throws GateError `invalid`, naming the entry that is wrong */
export function compilePolicy(layers: PolicyLayers): CompiledPolicy {
  return compilePolicyRules(layers);
}

/** Answers a request; never throws: what cannot be evaluated is denied. */
export function evaluate(
  policy: CompiledPolicy,
  request: Request,
  around: Surroundings,
): Evaluation {
  if (policy.error !== null) return denied("config-error", policy.error);
  meter.reset();
  try {
    const { findings, analysis, units = [] } = decide(policy, request, around);
    const ranked = rank(findings);
    const span = ranked[0]!.text ?? null;
    const asks = ranked.filter(({ effect }) => effect === "ask");
    const decision = toDecision(ranked[0]!);
    return { decision, matched: rulesOf(ranked), analysis, span, asks, units };
  } catch (error) {
    return denied("evaluation", `A rule could not be evaluated: ${messageOf(error)}`);
  }
}

function denied(list: string, reason: string): Evaluation {
  const finding = builtin("deny", list, "**", reason);
  const nothing = { analysis: null, span: null, asks: [], units: [] };
  return { decision: toDecision(finding), matched: rulesOf([finding]), ...nothing };
}

function decide(
  policy: CompiledPolicy,
  request: Request,
  around: Surroundings,
): { findings: Finding[]; analysis: Analysis | null; units?: Unit[] } {
  if (request.kind === "command") return decideCommand(policy, request, around);
  if (request.kind === "tool") return { findings: judgeTool(policy, request), analysis: null };
  const tool = toolFindings(policy, request);
  const about = { path: request.path };
  if (request.is_plain_read && request.access === "read") {
    const found = decidePlainRead(policy.paths, request.path, around);
    return { findings: found.map((one) => ({ ...one, about })), analysis: null };
  }
  const setting = { ...around, defaultEffect: policy.defaultEffect };
  const own = isRoot(request, around)
    ? [ROOT_ITSELF]
    : decidePath(policy.paths, request.access, request.path, setting);
  const spoken = tool.length > 0 ? own.filter((one) => one.rule !== null) : own;
  const findings = [...tool, ...spoken.map((one) => ({ ...one, about }))];
  return { findings, analysis: null };
}

/** To allow a tool that writes is no word on where it may: only reading goes by its tool alone. */
function toolFindings(
  policy: CompiledPolicy,
  { tool, access }: Request & { kind: "path" },
): Finding[] {
  if (tool === undefined) return [];
  return judgeOwnTool(policy, { tool, input: {} })
    .filter(({ effect }) => effect !== "allow" || access === "read");
}

/** No file can stand where the project stands. */
const ROOT_ITSELF = builtin("deny", "malformed-path", "/", "This is the project's own folder");

function isRoot({ access, path }: Request & { kind: "path" }, around: Surroundings): boolean {
  return access !== "read" && around.roots.includes(path.real);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
