import type { HttpExchange } from "../execute/http.ts";
import type { Verdict } from "../execute/verdict.ts";
import type { Scenario } from "../schema.ts";
import { type LedgerEntry, Refusal, type RequestLedger } from "./ledger.ts";
import { Playbook, type PlaybookStep } from "./playbook_schema.ts";

/** True for a scenario whose steps can run without a model. */
export function hasPlaybook(scenario: Scenario): boolean {
  return Playbook.safeParse(scenario.playbook).success;
}

/** Runs a scenario's playbook; what cannot be set up is inconclusive, never a pass. */
export async function runPlaybook(scenario: Scenario, ledger: RequestLedger): Promise<Verdict> {
  const { steps } = Playbook.parse(scenario.playbook);
  const run: Run = { ledger, values: new Map([["uniq", unique()]]), bodies: new Map() };
  try {
    for (const step of steps) {
      const problem = await runStep(step, run);
      if (problem) return problem;
    }
  } catch (error) {
    if (error instanceof Refusal) return inconclusive(`Stopped: ${error.message}`);
    throw error;
  }
  return { status: "passed", reason: `All ${steps.length} steps went as a correct system does` };
}

interface Run {
  ledger: RequestLedger;
  values: Map<string, string>;
  bodies: Map<string, string>;
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
  if (step.race) {
    return judgeVolley(step, await run.ledger.race(request, step.race, step.as ?? null));
  }
  const { entry, exchange } = await run.ledger.send(request, step.as ?? null);
  run.bodies.set(step.name, exchange.body);
  return judgeStep(step, entry, run) ?? saveValues(step, exchange, run);
}

function judgeStep(step: PlaybookStep, entry: LedgerEntry, run: Run): Verdict | null {
  const what = `"${step.name}" (${entry.id})`;
  if (entry.error !== null) return answer(step, `${what} got no good answer: ${entry.error}`);
  if (entry.status! >= 500 && !expects(step, entry.status!)) {
    return failed(`${what} made the server fail with ${entry.status}`);
  }
  if (step.expect && !expects(step, entry.status!)) {
    return answer(
      step,
      `${what} was answered ${entry.status} instead of ${step.expect.join(" or ")}`,
    );
  }
  const body = run.bodies.get(step.name);
  if (step.same_as && run.bodies.get(step.same_as) !== body) {
    return answer(step, `${what} answers something else than "${step.same_as}"`);
  }
  if (step.differs_from && run.bodies.get(step.differs_from) === body) {
    return answer(step, `${what} answers the same as "${step.differs_from}"`);
  }
  return null;
}

function judgeVolley(step: PlaybookStep, entry: LedgerEntry): Verdict | null {
  const winners = entry.statuses!.filter((status) =>
    status !== null && status >= 200 && status < 300
  );
  if (winners.length > 1) {
    return failed(`"${step.name}" (${entry.id}): ${winners.length} of ${step.race} requests won`);
  }
  return entry.error === null ? null : answer(step, `"${step.name}" (${entry.id}): ${entry.error}`);
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

/** `header:Location` is the last segment of its path; `body:/id` a member of the JSON answer. */
function valueOf(exchange: HttpExchange, from: string): string | null {
  const [kind, what = ""] = from.split(/:(.*)/s);
  if (kind === "header") {
    const header = exchange.headers.find(([name]) => name.toLowerCase() === what.toLowerCase())
      ?.[1];
    return (header?.split(/[?#]/)[0] ?? "").split("/").findLast((part) => part !== "") ?? null;
  }
  try {
    let value: unknown = JSON.parse(exchange.body);
    for (const token of what.split("/").slice(1)) {
      value = (value as Record<string, unknown> | null)?.[token];
    }
    return ["string", "number"].includes(typeof value) ? encodeURIComponent(String(value)) : null;
  } catch {
    return null;
  }
}

function expects({ expect = [] }: PlaybookStep, status: number): boolean {
  return expect.some((one) => one === status || one === `${Math.floor(status / 100)}xx`);
}

function fillIn(text: string, values: Map<string, string>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values.get(name) ?? whole);
}

/** Two runs against one target must not meet each other's records. */
function unique(): string {
  return crypto.randomUUID().slice(0, 8);
}

function answer(step: PlaybookStep, reason: string): Verdict {
  return step.setup ? inconclusive(`Could not be set up: ${reason}`) : failed(reason);
}

function failed(reason: string): Verdict {
  return { status: "failed", reason };
}

function inconclusive(reason: string): Verdict {
  return { status: "inconclusive", reason };
}
