import { evaluateAction } from "../actions/submit/evaluate.ts";
import type { ParsedInput, Plan } from "../actions/plan.ts";
import type { ActionRow } from "../actions/store.ts";
import { sha256 } from "../db/chain.ts";
import type { CompiledPolicy, Evaluation, Surroundings } from "../policy/evaluate.ts";
import type { ToolRule } from "../policy/policy.ts";
import { matchesName } from "../policy/tool_rules.ts";
import type { Unjudged } from "./schema.ts";
import { toolOf } from "../actions/tools.ts";

/** A policy with its surroundings. */
export interface Candidate {
  compiled: CompiledPolicy;
  around: Surroundings;
}

/** A policy's evaluation of a recorded action, or why it cannot be evaluated. */
export type Again = { answer: Evaluation } | { unjudged: string };

/** Evaluates a recorded action with the files as they are today. */
export async function evaluateAgain(row: ActionRow, candidate: Candidate): Promise<Again> {
  const why = unjudgedBecause(row, candidate.compiled);
  if (why !== null) return { unjudged: why };
  const config = { inForce: () => Promise.resolve(candidate) };
  return { answer: await evaluateAction({ config }, askedOf(row, row.plan!)) };
}

function unjudgedBecause(row: ActionRow, policy: CompiledPolicy): string | null {
  if (toolOf(row.tool).undoes) return "a rollback depends on the actions that it rolls back";
  if (row.decision.rule?.source === "auto-block") return "an auto-block decided it, not a rule";
  if (!row.plan) return "its input was not kept";
  if (row.plan.shortened) return "it was refused, and only an excerpt of its input was kept";
  if (!isWhole(row.plan) && policy.tools.some((rule) => looksInside(rule, row.tool))) {
    return "a rule matches arguments that were redacted or cut in the record";
  }
  return null;
}

/** The agent's original input, if a reviewer changed it. */
function askedOf(row: ActionRow, plan: Plan): ParsedInput {
  const command = row.proposed?.command ?? plan.command;
  return { ...plan, command };
}

/** Whether the plan keeps the whole input. For the gate's own tools it keeps everything relevant. */
function isWhole({ input, input_sha256 }: Plan): boolean {
  return input_sha256 === null || sha256(JSON.stringify(input)) === input_sha256;
}

function looksInside({ compiled }: ToolRule, tool: string): boolean {
  return compiled.args.length > 0 && matchesName(compiled, tool);
}

const MOST_EXAMPLES = 3;

/** Counts the actions that could not be evaluated, by reason. */
export class UnjudgedCounts {
  readonly #reasons = new Map<string, Unjudged>();

  add(why: string, id: string): void {
    const known = this.#reasons.get(why) ?? { why, count: 0, examples: [] };
    known.count++;
    if (known.examples.length < MOST_EXAMPLES) known.examples.push(id);
    this.#reasons.set(why, known);
  }

  list(): Unjudged[] {
    return [...this.#reasons.values()].sort((a, b) => b.count - a.count);
  }
}
