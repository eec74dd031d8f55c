import { evaluate, type Evaluation, type Surroundings } from "../policy/evaluate.ts";
import type { Effect, PolicyLimits } from "../policy/schema.ts";
import type { Asked } from "./plan.ts";
import type { Config } from "../config/config.ts";

/** What policy says of an action, and the limits that hold for it. */
export interface Judgement extends Evaluation {
  limits: PolicyLimits;
  around: Surroundings;
}

const STRICTNESS: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

/**
 * Asks policy about everything that an action would touch: the strictest answer is the answer.
 * Of a tool that the gate only records, `input` is the whole input, where it is still at hand.
 */
export async function judge(
  services: { config: Pick<Config, "inForce"> },
  asked: Asked,
  input: Record<string, unknown> = asked.input,
): Promise<Judgement> {
  const { compiled, around } = await services.config.inForce();
  const { command, cwd, accesses } = asked;
  // What a host's own tools read meets the same rules as what a command reads.
  const is_plain_read = asked.native !== undefined;
  const answers = accesses.map(({ access, target: { lexical, real } }) => {
    // A rule that allows the gate's own reading answers where no rule speaks of the path.
    const tool = access === "read" && !is_plain_read ? { tool: asked.tool } : {};
    const path = { lexical, real };
    return evaluate(compiled, { kind: "path", access, path, is_plain_read, ...tool }, around);
  });
  if (command !== null && cwd !== null) {
    const tool = is_plain_read ? {} : { tool: "run_command" };
    answers.push(evaluate(compiled, { kind: "command", command, cwd, ...tool }, around));
  }
  const asTool = namesOf(asked).map((name) =>
    evaluate(compiled, { kind: "tool", tool: name, input }, around)
  );
  // Of the gate's own tools the files and commands decide, unless a rule names the tool to be stricter.
  const counts = answers.length === 0
    ? asTool.slice(0, 1)
    : asTool.filter(({ decision }) => decision.rule !== null && decision.effect !== "allow");
  return { ...strictestOf([...answers, ...counts]), limits: compiled.limits, around };
}

/** The names that a rule may call the tool by; the first one counts where nothing else speaks. */
function namesOf({ tool, native }: Asked): string[] {
  if (!native) return [tool, `mcp__gate__${tool}`];
  const plain = /^[\w-]+:(\w+)$/.exec(tool)?.[1];
  return plain === undefined ? [tool] : [tool, plain];
}

function strictestOf(answers: readonly Evaluation[]): Evaluation {
  const [first, ...rest] = answers;
  const strictest = rest.reduce(
    (best, next) =>
      STRICTNESS[next.decision.effect] > STRICTNESS[best.decision.effect] ? next : best,
    first!,
  );
  return {
    decision: strictest.decision,
    matched: answers.flatMap(({ matched }) => matched),
    analysis: answers.find(({ analysis }) => analysis !== null)?.analysis ?? null,
    span: strictest.span,
    asks: answers.flatMap(({ asks }) => asks),
    units: answers.flatMap(({ units }) => units),
  };
}
