import { bytesOf, readAsked } from "../actions/asked.ts";
import { digestOf } from "../actions/digest.ts";
import { drawUp } from "../actions/draft.ts";
import { judge, type Judgement } from "../actions/judge.ts";
import type { Asked, Plan } from "../actions/plan.ts";
import { blockedDraft } from "../actions/rows.ts";
import { scriptsOf } from "../actions/scripts.ts";
import { type ActionServices, timestamp } from "../actions/services.ts";
import { GateError } from "../errors.ts";
import { createQuestion } from "../policy/grant.ts";
import type { PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import { toolOf } from "../policy/test_policy.ts";
import { accessOf, decisionBy, findAnswering } from "../grants/answering.ts";

/** What policy says of a question, once remembered decisions are asked too; takes no use of any. */
export async function consultGrants(
  services: ActionServices,
  question: PolicyTestInput,
  said: PolicyTestResult,
): Promise<PolicyTestResult> {
  if (said.effect !== "ask") return said;
  try {
    const grant = await findFor(services, question);
    return grant ? { ...said, ...decisionBy(grant, grant.uses) } : said;
  } catch (error) {
    // An input that no tool would take: what policy says of its letters stands.
    if (error instanceof GateError && error.code === "invalid") return said;
    throw error;
  }
}

async function findFor(services: ActionServices, question: PolicyTestInput) {
  const { ledger, roots, environment } = services;
  const { tool, input } = toolOf(question);
  const asked = readAsked(tool, input, roots[0]!, roots);
  const judgement = await judge(services, asked, input);
  if (judgement.decision.effect !== "ask") return null;
  const plan = await planOf(services, asked, question, judgement);
  const { command, cwd } = asked;
  return await findAnswering(ledger, {
    access: accessOf(asked),
    digest: plan && digestOf(plan),
    session_id: question.session_id ?? null,
    scripts: plan?.scripts ?? [],
    question: createQuestion({ evaluation: judgement, command, cwd, around: judgement.around }),
  }, timestamp(environment));
}

/** What exactly would be done; null where the question does not say it, or it cannot be done. */
async function planOf(
  services: ActionServices,
  asked: Asked,
  { content }: PolicyTestInput,
  { analysis, limits }: Judgement,
): Promise<Plan | null> {
  if (asked.tool === "write_file" && content === undefined) return null;
  if (asked.tool === "run_command") {
    return { ...blockedDraft(asked).plan, scripts: await scriptsOf(analysis, asked.cwd!) };
  }
  try {
    const wanted = { asked, content: content === undefined ? null : bytesOf(content) };
    return (await drawUp(services, services.roots[0]!, { ...wanted, analysis, limits })).plan;
  } catch (error) {
    if (error instanceof GateError) return null;
    throw error;
  }
}
