import type { HttpExchange } from "../execute/http.ts";
import type { Verdict } from "../execute/verdict.ts";
import type { Scenario } from "../schema.ts";
import { recordsOf } from "./compare.ts";
import { inconclusive, judgeStep, judgeVolley } from "./judge_step.ts";
import { Refusal, type RequestLedger } from "./ledger.ts";
import { Playbook, type PlaybookStep } from "./playbook_schema.ts";

/** True for a scenario whose steps can run without a model. */
export function hasPlaybook(scenario: Scenario): boolean {
  return Playbook.safeParse(scenario.playbook).success;
}

/** Runs a scenario's playbook; what cannot be set up is inconclusive, never a pass. */
export async function runPlaybook(scenario: Scenario, ledger: RequestLedger): Promise<Verdict> {
  const { steps } = Playbook.parse(scenario.playbook);
  const run: Run = { ledger, values: new Map([["uniq", unique()]]), answers: new Map() };
  try {
    for (const [done, step] of steps.entries()) {
      const problem = await runStep(step, run);
      if (problem?.status === "inconclusive" && step.optional) return wentWell(done);
      if (problem) return problem;
    }
  } catch (error) {
    if (error instanceof Refusal) return inconclusive(`Stopped: ${error.message}`);
    throw error;
  }
  return wentWell(steps.length);
}

function wentWell(steps: number): Verdict {
  return { status: "passed", reason: `All ${steps} steps went as a correct system does` };
}

interface Run {
  ledger: RequestLedger;
  values: Map<string, string>;
  answers: Map<string, HttpExchange>;
}

async function runStep(step: PlaybookStep, run: Run): Promise<Verdict | null> {
  const fill = (text: string) => fillIn(text, run.values);
  const headers = Object.entries(step.headers ?? {}).map(([name, value]) => [name, fill(value)]);
  const request = {
    method: step.method,
    path: fill(step.path),
    headers: Object.fromEntries(headers),
    body: step.body === undefined ? undefined : fill(step.body),
  };
  if (/\{\{\w+\}\}/.test(request.path)) {
    return inconclusive(`"${step.name}" lacks a value it needs`);
  }
  const as = step.as ?? null;
  if (step.race) return judgeVolley(step, await run.ledger.race(request, step.race, as));
  const { entry, exchange } = await run.ledger.send(request, as);
  const { answers } = run;
  const problem = judgeStep(step, entry, exchange, { fill, answers });
  answers.set(step.name, exchange);
  return problem ?? tooFew(step, exchange) ?? saveValues(step, exchange, run);
}

function tooFew({ name, records }: PlaybookStep, { body }: HttpExchange): Verdict | null {
  if (records === undefined || (recordsOf(body)?.length ?? 0) >= records) return null;
  return inconclusive(`"${name}" shows fewer than the ${records} records that are needed`);
}

function saveValues(step: PlaybookStep, exchange: HttpExchange, run: Run): Verdict | null {
  for (const [name, from] of Object.entries(step.save ?? {})) {
    const value = from.split("|").map((one) => valueOf(exchange, one.trim())).find((one) =>
      one !== null
    );
    if (value === undefined || value === null) {
      return inconclusive(`"${step.name}" answers without the ${name} that later steps need`);
    }
    run.values.set(name, value);
  }
  return null;
}

/**
 * `header:Location` is the last segment of its path, any other header its value; `body:/id` is a
 * member of the JSON answer, ready for a path, and `text:/token` the same as it stands.
 */
function valueOf(exchange: HttpExchange, from: string): string | null {
  const [kind, what = ""] = from.split(/:(.*)/s);
  if (kind === "header") {
    const header = exchange.headers.find(([name]) => name.toLowerCase() === what.toLowerCase())
      ?.[1];
    if (header === undefined || !/^location$/i.test(what)) return header ?? null;
    return (header.split(/[?#]/)[0] ?? "").split("/").findLast((part) => part !== "") ?? null;
  }
  try {
    let value: unknown = JSON.parse(exchange.body);
    for (const token of what.split("/").slice(1)) {
      value = (value as Record<string, unknown> | null)?.[token];
    }
    if (!["string", "number"].includes(typeof value)) return null;
    return kind === "text" ? String(value) : encodeURIComponent(String(value));
  } catch {
    return null;
  }
}

function fillIn(text: string, values: Map<string, string>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values.get(name) ?? whole);
}

/** Two runs against one target must not meet each other's records. */
function unique(): string {
  return crypto.randomUUID().slice(0, 8);
}
