import type { CommandIndex } from "./command_match.ts";
import type { CompiledRule, Finding } from "./finding.ts";
import type { Segment } from "./glob.ts";
import type { NamedPaths } from "./named_paths.ts";
import type { PathIndex, PathPattern } from "./path_match.ts";
import type { Proof } from "./prove/proved.ts";
import type { EvaluationOptions, Request } from "./request.ts";
import type { EffectiveSandbox } from "./sandbox.ts";
import type { RiskSettings } from "./risk_weights.ts";
import type { Analysis, Decision, Effect, PolicyLimits, Rule } from "./schema.ts";
import type { Unit } from "./interpret/unit.ts";

/** A merged policy with compiled patterns, ready to evaluate requests. */
export interface CompiledPolicy {
  readonly defaultEffect: Effect;
  readonly limits: PolicyLimits;
  readonly sandbox: EffectiveSandbox;
  readonly risk: RiskSettings;
  readonly rules: readonly (Rule & { reason: string | null; alternative: string | null })[];
  readonly paths: PathRules;
  readonly commands: CommandIndex;
  readonly tools: readonly ToolRule[];
  /** Why the config cannot be used; while it is set, everything is denied. */
  readonly error: string | null;
  /** The cause and the place of `error`. */
  readonly fault: ConfigFault | null;
  /** The single policies that all apply, the strictest wins; empty for a single policy. */
  readonly layers: readonly PolicyLayer[];
}

/** What is wrong in a config, and where in which file; without a place where none is known. */
export interface ConfigFault {
  path: string | null;
  line: number | null;
  column: number | null;
  cause: string;
}

/** One of several policies that apply to a request. */
export interface PolicyLayer {
  /** A single policy. */
  compiled: CompiledPolicy;
  /** The folders that count as its project; by default those of the request. */
  roots?: readonly string[];
  /** A finding about every request under this layer. */
  finding?: Finding;
}

/** A path rule, compiled. */
export interface PathRule extends CompiledRule {
  compiled: PathPattern;
}

/** The path rules of a policy. */
export type PathRules = PathIndex<PathRule>;

/** A tool rule, compiled. */
export interface ToolRule extends CompiledRule {
  compiled: ToolPattern;
}

/** A tool pattern: names, and globs over arguments that must all match. */
export interface ToolPattern {
  names: Segment[];
  args: [string, Segment[]][];
}

/** The findings about one request; the strictest of them decides. */
export interface Findings {
  findings: Finding[];
  analysis?: Analysis;
  units?: Unit[];
  named?: NamedPaths;
  proof?: Proof | undefined;
  /** Of a command, if a sandbox is possible: why it does not hold. */
  obstacles?: () => string[];
}

/** The decision with everything that led to it. */
export interface Evaluation {
  decision: Decision;
  /** Every rule that applied, the winner first. */
  matched: Rule[];
  /** Those of them that only may apply, because a part of the request is not known. */
  unsure: Rule[];
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
  /** Why a sandbox does not hold the command, or why the command cannot work in one. */
  obstacles: () => string[];
  /** If the sandbox answers a question: the decision without it. */
  outside: Decision | null;
  /** Why the sandbox does not answer the question; null if it does, or if there is none. */
  sandbox_refused: string | null;
}

/** Evaluates one kind of request; returns at least one finding. */
export type Decide<R extends Request> = (
  policy: CompiledPolicy,
  request: R,
  options: EvaluationOptions,
) => Findings;
