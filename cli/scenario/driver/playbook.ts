import { type HttpExchange, isSuccess } from "../execute/http.ts";
import { failed, inconclusive, passed, type Verdict } from "../execute/verdict.ts";
import type { Scenario } from "../schema.ts";
import { recordsOf } from "./compare.ts";
import { type LedgerEntry, NotSentError, type RequestLedger } from "./ledger.ts";
import { judgeOracle } from "./oracles.ts";
import { Playbook, type PlaybookStep } from "./playbook_schema.ts";
import { runAttempts } from "./steps/attempts.ts";
import { mistakeInBody, type Seen } from "./steps/body.ts";
import { runCall } from "./steps/call_back.ts";
import { runDelay } from "./steps/delay.ts";
import { judgeDenied } from "./steps/denied.ts";
import { savedValue } from "./steps/saved_value.ts";
import { wentWrong } from "./steps/step_request.ts";
import { runVolley } from "./steps/volley.ts";

/** True for a scenario that runs without a model. */
export function hasPlaybook(scenario: Scenario): boolean {
  return Playbook.safeParse(scenario.playbook).success;
}

/** Runs a scenario's playbook. If a setup step fails, the verdict is inconclusive, never a pass. */
export async function runPlaybook(scenario: Scenario, ledger: RequestLedger): Promise<Verdict> {
  const { steps } = Playbook.parse(scenario.playbook);
  const run: Run = { ledger, values: new Map([["uniq", createUniq()]]), answers: new Map() };
  try {
    for (const [done, step] of steps.entries()) {
      const problem = await runStep(step, run);
      if (problem?.status === "inconclusive" && step.optional) return asExpected(done);
      if (problem) return problem;
    }
  } catch (error) {
    if (error instanceof NotSentError) return inconclusive(`Stopped: ${error.message}`);
    throw error;
  }
  return asExpected(steps.length);
}

function asExpected(steps: number): Verdict {
  const went = steps === 1 ? "The one step" : `All ${steps} steps`;
  return passed(`${went} went as in a correct system`);
}

/** The state of a running playbook. */
interface Run {
  ledger: RequestLedger;
  values: Map<string, string>;
  answers: Map<string, HttpExchange>;
}

/** Sends one step. Returns the verdict that ends the playbook; null when it continues. */
async function runStep(step: PlaybookStep, run: Run): Promise<Verdict | null> {
  const fill = (text: string) => fillIn(text, run.values);
  const headers = Object.entries(step.headers ?? {}).map(([name, value]) => [name, fill(value)]);
  const request = {
    method: step.method,
    path: fill(step.path),
    headers: Object.fromEntries(headers),
    body: step.body === undefined ? undefined : fill(step.body),
  };
  if (/\{\{(?!listener\}\})\w+\}\}/.test(request.path)) {
    return inconclusive(`"${step.name}" lacks a value it needs`);
  }
  const { ledger, answers } = run;
  const as = step.as ?? null;
  const ready = { step, request, as };
  if (step.race) return await runVolley(ready, ledger);
  if (step.attempts) return await runAttempts(step.attempts, ready, ledger);
  if (step.quick) return await runDelay(step.quick, ready, ledger);
  if (step.calls_unlike !== undefined) {
    return await runCall(answers.get(step.calls_unlike), ready, ledger);
  }
  const { entry, exchange } = await ledger.send(request, as, step.forge);
  const filled = step.grants
    ? { ...step, grants: JSON.parse(fill(JSON.stringify(step.grants))) }
    : step;
  const problem = judgeStep(filled, entry, exchange, { fill, answers });
  answers.set(step.name, exchange);
  return problem ?? tooFewRecords(step, exchange) ??
    saveValues(step, { exchange, sent: request.body }, run);
}

function tooFewRecords({ name, records }: PlaybookStep, { body }: HttpExchange): Verdict | null {
  if (records === undefined || (recordsOf(body)?.length ?? 0) >= records) return null;
  return inconclusive(`"${name}" shows fewer than the ${records} records that are needed`);
}

function saveValues(
  step: PlaybookStep,
  { exchange, sent }: { exchange: HttpExchange; sent?: string },
  run: Run,
): Verdict | null {
  for (const [name, from] of Object.entries(step.save ?? {})) {
    const values = from.split("|").map((one) => savedValue(exchange, one.trim(), sent));
    const value = values.find((one) => one !== null);
    if (value === undefined || value === null) {
      return inconclusive(`"${step.name}" answers without the ${name} that later steps need`);
    }
    run.values.set(name, value);
  }
  return null;
}

/** The verdict that ends the playbook at this step; null when it continues. */
function judgeStep(
  step: PlaybookStep,
  entry: LedgerEntry,
  exchange: HttpExchange,
  seen: Seen,
): Verdict | null {
  const what = `"${step.name}" (${entry.id})`;
  if (entry.error !== null) return wentWrong(step, `${what} got no good answer: ${entry.error}`);
  const status = entry.status!;
  const found = judgeOracle(step, what, exchange, seen.answers);
  if (found !== undefined) return found;
  if (step.setup && status >= 500 && !expects(step, status)) {
    return wentWrong(step, `${what} was answered ${status}`);
  }
  if (status >= 500 && !expects(step, status)) {
    return failed(`${what} made the server fail with ${status}`);
  }
  if (step.control && !isSuccess(status)) {
    return inconclusive(`Proves nothing: ${what} was answered ${status} too`);
  }
  if (step.denied) return judgeDenied(step, what, exchange, seen.answers);
  if (step.expect && !expects(step, status)) {
    const wanted = step.expect.join(" or ");
    return wentWrong(step, `${what} was answered ${status} instead of ${wanted}`);
  }
  const before = step.status_as && seen.answers.get(step.status_as)?.status;
  if (before && before !== status) {
    return wentWrong(step, `${what} was answered ${status}, but "${step.status_as}" ${before}`);
  }
  const wrong = mistakeInBody(step, exchange, seen);
  return wrong === null ? null : wentWrong(step, `${what} ${wrong}`);
}

function expects({ expect = [] }: PlaybookStep, status: number): boolean {
  return expect.some((one) => one === status || one === `${Math.floor(status / 100)}xx`);
}

function fillIn(text: string, values: Map<string, string>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values.get(name) ?? whole);
}

/** A new value of `{{uniq}}`, which keeps the records of two runs against one target apart. */
function createUniq(): string {
  return crypto.randomUUID().slice(0, 8);
}
