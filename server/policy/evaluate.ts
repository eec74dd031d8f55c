import { GateError } from "../errors.ts";
import type { Analysis, Decision, Effect, Policies, PolicyLimits, Rule } from "./schema.ts";

/** A path as it was asked for (absolute, `..` folded) and as it is (links resolved as far as it exists). */
export interface PathFacts {
  lexical: string;
  real: string;
}

/** What somebody wants to do. */
export type Request =
  | { kind: "path"; access: "read" | "write" | "delete"; path: PathFacts }
  | { kind: "command"; command: string; cwd: string }
  | { kind: "tool"; tool: string; input: Record<string, unknown> };

/** What the decision depends on besides the rules; policy/ itself does no I/O. */
export interface Surroundings {
  /** Real paths of the project's folders. */
  roots: string[];
  /** The user's home folder. */
  user_home: string;
  /** The gate's own data folder. */
  gate_home: string;
  port: number;
  /** Looks a path up on disk. */
  resolve: (path: string) => PathFacts;
}

/** The layers of policy, before they are merged. */
export interface PolicyLayers {
  global: Policies | null;
  project: Policies | null;
  /** True only when a person has trusted `overrideGlobal` on this machine. */
  override_global: boolean;
}

/** A policy ready to be asked; opaque to callers but for what they show. */
export interface CompiledPolicy {
  readonly defaultEffect: Effect;
  readonly limits: PolicyLimits;
  readonly rules: readonly (Rule & { reason: string | null; alternative: string | null })[];
}

/** The decision with everything that led to it. */
export interface Evaluation {
  decision: Decision;
  /** Every rule that applied, the winner first. */
  matched: Rule[];
  analysis: Analysis | null;
}

/** Merges and checks the layers. @throws GateError `invalid`, naming the entry that is wrong */
export function compilePolicy(_layers: PolicyLayers): CompiledPolicy {
  throw new GateError("internal", "not built yet");
}

/** Answers a request; never throws: what cannot be evaluated is denied. */
export function evaluate(
  _policy: CompiledPolicy,
  _request: Request,
  _around: Surroundings,
): Evaluation {
  throw new GateError("internal", "not built yet");
}
