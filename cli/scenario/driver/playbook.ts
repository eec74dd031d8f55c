import { type HttpExchange, type HttpRequest, isSuccess } from "../execute/http.ts";
import { leakOf } from "../execute/leaks.ts";
import { failed, inconclusive, passed, type Verdict } from "../execute/verdict.ts";
import { valueAt } from "../json.ts";
import type { Scenario } from "../schema.ts";
import { judgeOracle } from "./oracles.ts";
import {
  changedMember,
  deepMember,
  identityOf,
  isShared,
  recordsOf,
  saysTheSame,
} from "./compare.ts";
import { type LedgerEntry, Refusal, type RequestLedger } from "./ledger.ts";
import { Playbook, type PlaybookStep } from "./playbook_schema.ts";

/** True for a scenario that runs without a model. */
export function hasPlaybook(scenario: Scenario): boolean {
  return Playbook.safeParse(scenario.playbook).success;
}

/** Runs a scenario's playbook. If a setup step fails, the verdict is inconclusive, never a pass. */
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
  return passed(`All ${steps} steps went as in a correct system`);
}

interface Run {
  ledger: RequestLedger;
  values: Map<string, string>;
  answers: Map<string, HttpExchange>;
}

/** The values and answers that a step is compared with. */
interface Seen {
  fill: (text: string) => string;
  /** The answers so far, by the name of their step. */
  answers: ReadonlyMap<string, HttpExchange>;
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
  if (step.race) return await runVolley({ step, request, as }, run.ledger);
  const { entry, exchange } = await run.ledger.send(request, as, step.forge);
  const { answers } = run;
  const filled = step.grants
    ? { ...step, grants: JSON.parse(fill(JSON.stringify(step.grants))) }
    : step;
  const problem = judgeStep(filled, entry, exchange, { fill, answers });
  answers.set(step.name, exchange);
  return problem ?? tooFew(step, exchange) ??
    saveValues(step, { exchange, sent: request.body }, run);
}

function tooFew({ name, records }: PlaybookStep, { body }: HttpExchange): Verdict | null {
  if (records === undefined || (recordsOf(body)?.length ?? 0) >= records) return null;
  return inconclusive(`"${name}" shows fewer than the ${records} records that are needed`);
}

function saveValues(
  step: PlaybookStep,
  { exchange, sent }: { exchange: HttpExchange; sent?: string },
  run: Run,
): Verdict | null {
  for (const [name, from] of Object.entries(step.save ?? {})) {
    const values = from.split("|").map((one) => valueOf(exchange, one.trim(), sent));
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
  if (entry.error !== null) return answer(step, `${what} got no good answer: ${entry.error}`);
  const status = entry.status!;
  const found = judgeOracle(step, what, exchange, seen.answers);
  if (found !== undefined) return found;
  if (step.setup && status >= 500 && !expects(step, status)) {
    return answer(step, `${what} was answered ${status}`);
  }
  if (status >= 500 && !expects(step, status)) {
    return failed(`${what} made the server fail with ${status}`);
  }
  if (step.control && !isSuccess(status)) {
    return inconclusive(`Proves nothing: ${what} was answered ${status} too`);
  }
  if (step.denied) return judgeDenied(step, what, exchange, seen);
  if (step.expect && !expects(step, status)) {
    const wanted = step.expect.join(" or ");
    return answer(step, `${what} was answered ${status} instead of ${wanted}`);
  }
  const before = step.status_as && seen.answers.get(step.status_as)?.status;
  if (before && before !== status) {
    return answer(step, `${what} was answered ${status}, but "${step.status_as}" ${before}`);
  }
  const wrong = wrongBody(step, exchange, seen);
  return wrong === null ? null : answer(step, `${what} ${wrong}`);
}

/** A volley, and one request more when several won: a request that may be repeated is no race. */
async function runVolley(
  { step, request, as }: { step: PlaybookStep; request: HttpRequest; as: string | null },
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const entry = await ledger.race(request, step.race!, as);
  const verdict = judgeVolley(step, entry);
  const won = entry.statuses!.filter(isSuccess).length;
  if (step.same_answer || won < 2) return verdict;
  const { exchange } = await ledger.send(request, as);
  if (!isSuccess(exchange.status)) return verdict;
  return inconclusive(
    `Proves no race: ${won} of ${step.race} succeeded, and one more afterwards did too, ` +
      "so the request may be repeated",
  );
}

/** The statuses by which a service hides what belongs to somebody else. */
const DENIALS = [401, 403, 404];

function judgeDenied(
  step: PlaybookStep,
  what: string,
  { status, body }: HttpExchange,
  { answers }: Seen,
): Verdict | null {
  if (DENIALS.includes(status!)) return null;
  if (!isSuccess(status)) {
    return inconclusive(`Proves nothing: ${what} was answered ${status}, for another reason`);
  }
  const list = step.shared_in === undefined ? undefined : answers.get(step.shared_in);
  if (list && isSuccess(list.status) && isShared(body, list.body)) {
    return inconclusive(`Not tested: "${step.shared_in}" shows the record to everybody`);
  }
  return failed(`${what} was answered ${status} instead of 401, 403 or 404`);
}

/** A volley fails when more than one of its requests wins. */
function judgeVolley(step: PlaybookStep, entry: LedgerEntry): Verdict | null {
  const statuses = entry.statuses!;
  const winners = statuses.filter(isSuccess);
  const what = `"${step.name}" (${entry.id})`;
  const answers = entry.race?.winning_answers ?? 0;
  if (step.same_answer ? answers > 1 : winners.length > 1) {
    const how = step.same_answer ? `, with ${answers} different answers` : "";
    return failed(`${what}: ${winners.length} of ${step.race} requests won${how}`);
  }
  const crash = statuses.find((status) => status !== null && status >= 500);
  if (crash) return failed(`${what} made the server fail with ${crash}`);
  return entry.error === null ? null : answer(step, `${what}: ${entry.error}`);
}

/** A failed setup step says nothing about the target, so it is inconclusive. */
function answer(step: PlaybookStep, reason: string): Verdict {
  return step.setup ? inconclusive(`Could not be set up: ${reason}`) : failed(reason);
}

function expects({ expect = [] }: PlaybookStep, status: number): boolean {
  return expect.some((one) => one === status || one === `${Math.floor(status / 100)}xx`);
}

function wrongBody(step: PlaybookStep, exchange: HttpExchange, seen: Seen): string | null {
  const { body } = exchange;
  const bodyOf = (name: string) => seen.answers.get(name)?.body ?? "";
  if (step.same_as && !saysTheSame(bodyOf(step.same_as), body)) {
    return `answers differently from "${step.same_as}"`;
  }
  if (step.differs_from && bodyOf(step.differs_from) === body) {
    return `answers the same as "${step.differs_from}"`;
  }
  if (step.hides !== undefined && showsRecord(body, seen.fill(step.hides))) {
    return `shows the record ${seen.fill(step.hides)}`;
  }
  const leak = leakOf({ mode: "http", forbidden: step.forbidden }, exchange);
  if (leak) return `was answered ${exchange.status}, but ${leak}`;
  if (step.unchanged) {
    const { since, members } = step.unchanged;
    const member = changedMember(bodyOf(since), body, members);
    if (member) return `shows another "${member}" than "${since}"`;
  }
  return step.joins ? wrongJoin(step.joins.map(bodyOf), body, step.joins) : null;
}

function showsRecord(body: string, encoded: string): boolean {
  const ids = (recordsOf(body) ?? []).map(identityOf);
  return ids.some((id) =>
    encodeURIComponent(id.replace(/^"(.*)"$/, "$1").toWellFormed()) === encoded
  );
}

/** The two halves of a page must show the records of the whole page, each once. */
function wrongJoin(halves: string[], whole: string, names: string[]): string | null {
  const ids = (body: string) => (recordsOf(body) ?? []).map(identityOf);
  const joined = halves.flatMap(ids);
  const all = ids(whole);
  if (new Set(joined).size < joined.length) return `"${names.join('" and "')}" show a record twice`;
  const lost = all.find((id) => !joined.includes(id));
  if (lost !== undefined) return `shows ${lost.slice(0, 60)}, which none of its halves shows`;
  return null;
}

/**
 * `header:Location` is the last segment of its path; any other header is its value. `body:/id` is a
 * member of the JSON answer, encoded for a path; `text:/token` is one without encoding.
 */
function valueOf(exchange: HttpExchange, from: string, sent = ""): string | null {
  const [kind, what = ""] = from.split(/:(.*)/s);
  if (kind === "find" || kind === "sent") {
    const found = deepMember(kind === "find" ? exchange.body : sent, what);
    return found === null ? null : encodeURIComponent(found);
  }
  if (kind === "header") {
    const sought = what.toLowerCase();
    const header = exchange.headers.find(([name]) => name.toLowerCase() === sought)?.[1];
    if (header === undefined || !/^location$/i.test(what)) return header ?? null;
    return (header.split(/[?#]/)[0] ?? "").split("/").findLast((part) => part !== "") ?? null;
  }
  try {
    const value = valueAt(JSON.parse(exchange.body), what);
    if (!["string", "number"].includes(typeof value)) return null;
    return kind === "text" ? String(value) : encodeURIComponent(String(value));
  } catch {
    return null;
  }
}

function fillIn(text: string, values: Map<string, string>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values.get(name) ?? whole);
}

/** Keeps the records of two runs against one target apart. */
function unique(): string {
  return crypto.randomUUID().slice(0, 8);
}
