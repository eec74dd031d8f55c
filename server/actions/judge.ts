import { evaluate, type Evaluation } from "../policy/evaluate.ts";
import type { Effect, PolicyLimits } from "../policy/schema.ts";
import type { Asked } from "./plan.ts";
import type { ActionServices } from "./services.ts";

/** What policy says of an action, and the limits that hold for it. */
export interface Judgement extends Evaluation {
  limits: PolicyLimits;
}

const STRICTNESS: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

/**
 * Asks policy about everything that an action would touch: the strictest answer is the answer.
 * Of a tool that the gate only records, `input` is the whole input, where it is still at hand.
 */
export async function judge(
  services: ActionServices,
  asked: Asked,
  input: Record<string, unknown> = asked.input,
): Promise<Judgement> {
  const { compiled, around } = await services.config.inForce();
  const { tool, command, cwd, accesses } = asked;
  const answers = accesses.map(({ access, target: { lexical, real } }) =>
    evaluate(compiled, { kind: "path", access, path: { lexical, real } }, around)
  );
  if (command !== null && cwd !== null) {
    answers.push(evaluate(compiled, { kind: "command", command, cwd }, around));
  }
  const asTool = [tool, `mcp__gate__${tool}`].map((name) =>
    evaluate(compiled, { kind: "tool", tool: name, input }, around)
  );
  // Of the gate's own tools the files and commands decide, unless a rule names the tool to be stricter.
  const counts = answers.length === 0
    ? asTool.slice(0, 1)
    : asTool.filter(({ decision }) => decision.rule !== null && decision.effect !== "allow");
  return { ...strictestOf([...answers, ...counts]), limits: compiled.limits };
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
  };
}
