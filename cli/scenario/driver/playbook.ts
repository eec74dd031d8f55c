import { type HttpExchange, type HttpRequest, isSuccess } from "../execute/http.ts";
import { leakOf } from "../execute/leaks.ts";
import {
  failed,
  howMany,
  inconclusive,
  passed,
  type Verdict,
  verdictAfter,
} from "../execute/verdict.ts";
import { valueAt } from "../json.ts";
import type { Scenario } from "../schema.ts";
import { listenForCalls } from "./listener.ts";
import { judgeOracle } from "./oracles.ts";
import {
  changedMember,
  deepMember,
  hasPrivateMember,
  identityOf,
  isEmptyList,
  isListed,
  objectsOf,
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
  const went = steps === 1 ? "The one step" : `All ${steps} steps`;
  return passed(`${went} went as in a correct system`);
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
  if (/\{\{(?!listener\}\})\w+\}\}/.test(request.path)) {
    return inconclusive(`"${step.name}" lacks a value it needs`);
  }
  const as = step.as ?? null;
  if (step.race) return await runVolley({ step, request, as }, run.ledger);
  if (step.attempts) return await runAttempts(step.attempts, { step, request, as }, run.ledger);
  if (step.quick) return await runDelay(step.quick, { step, request, as }, run.ledger);
  if (step.calls_unlike !== undefined) {
    return await runCall(run.answers.get(step.calls_unlike), { step, request, as }, run.ledger);
  }
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

interface Sent {
  step: PlaybookStep;
  request: HttpRequest;
  as: string | null;
}

/** By these a service tells that too many were sent, or that a login is locked. */
const LIMITS = [403, 423, 429, 503];
/** A service that lets each attempt wait longer limits them too: so long, and so many times longer. */
const SLOWED_MS = 1_000;
const SLOWED_TIMES = 4;

/** The same refused request again and again, until the service limits it. */
async function runAttempts(
  attempts: number,
  { step, request, as }: Sent,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const statuses: number[] = [];
  let quickest = Infinity;
  let slowed = 0;
  for (let n = 0; n < attempts; n++) {
    const { exchange } = await ledger.send(request, as);
    const { status, headers, error, duration_ms } = exchange;
    if (error !== null || status === null) return inconclusive(`Proves nothing: ${error}`);
    if (status >= 500 && status !== 503) {
      return inconclusive(`Proves nothing: "${step.name}" made the server fail with ${status}`);
    }
    const isLimit = LIMITS.includes(status) && n > 0;
    // Some services refuse with a 2xx. Another refusal says that nobody looked at the password.
    const isRefusal = isSuccess(status)
      ? saysNo(exchange)
      : [401, 403, 404].includes(status) || (status === 400 && saysWrongSecret(exchange));
    if (!isRefusal && !isLimit) {
      return inconclusive(`Proves nothing: "${step.name}" was answered ${status}`);
    }
    const waits = headers.some(([name]) => name.toLowerCase() === "retry-after");
    // One slow answer may be a busy machine; a limit lasts.
    slowed = duration_ms >= SLOWED_MS && duration_ms > SLOWED_TIMES * quickest ? slowed + 1 : 0;
    quickest = Math.min(quickest, duration_ms);
    if (waits || slowed > 1 || (isLimit && status !== statuses[0])) return null;
    statuses.push(status);
  }
  const seen = [...new Set(statuses)].join(", ");
  return failed(
    `${attempts} times "${step.name}" in a row: each was answered (${seen}), none limited`,
  );
}

/** True for a refusal in words, without a token or a cookie. */
function saysNo({ headers, body }: HttpExchange): boolean {
  const isCookie = headers.some(([name]) => name.toLowerCase() === "set-cookie");
  const isLogin = isCookie || /"[\w-]*token"|\beyJ/i.test(body);
  return !isLogin && /fail|error|invalid|incorrect|not correct|wrong|denied|unauthori/i.test(body);
}

/** True for a refusal of the secret itself, and not of its form. */
function saysWrongSecret({ body }: HttpExchange): boolean {
  return /\b(invalid|incorrect|wrong|expired)\b[^"]{0,30}\b(pin|code|otp|password|credentials)\b/i
    .test(body);
}

/** How long the database is asked to wait at least, in an answer. */
const DELAYED_MS = 1_500;
/** So often the step and its control are sent in turns, once the step was slow. */
const TURNS = 2;

/**
 * A text by which the service works for long, with a control without that. The quickest answers are
 * compared, because anything else may make one of them slow: a busy machine, or another caller.
 */
async function runDelay(
  quick: NonNullable<PlaybookStep["quick"]>,
  { step, request, as }: Sent,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const timed = async (one: HttpRequest) => (await ledger.send(one, as)).exchange.duration_ms;
  let slow = await timed(request);
  let control = Infinity;
  for (let n = 0; n < TURNS && slow >= DELAYED_MS / 2; n++) {
    if (n === 0 && slow < DELAYED_MS) return null;
    control = Math.min(control, await timed({ ...request, ...quick }));
    slow = Math.min(slow, await timed(request));
  }
  // It was slow once, and not for its text.
  if (slow < DELAYED_MS / 2) return null;
  // A wait is added to the usual time; work is many times as much.
  const isSlow = quick.shows === undefined ? slow - control >= DELAYED_MS / 2 : slow > 4 * control;
  if (!isSlow) {
    return inconclusive(
      `Proves nothing: "${step.name}" took ${slow} ms, without it ${control} ms`,
    );
  }
  return failed(
    `"${step.name}" took ${slow} ms each time, the same without that ${control} ms: ` +
      (quick.shows ?? "the text reaches the query"),
  );
}

/** How long after its answer a target may still call. */
const CALL_MS = 1_000;

/** Names an address of this machine, and fails where the target calls it. */
async function runCall(
  usual: HttpExchange | undefined,
  { step, request, as }: Sent,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  if (!ledger.isLocal) {
    return inconclusive("Cannot tell: the target is on another machine, and cannot call this one");
  }
  const listener = await listenForCalls();
  const insert = (text: string) =>
    text.replaceAll(/\{\{listener\}\}|%7B%7Blistener%7D%7D/g, listener.url);
  try {
    const { body, path } = request;
    const call = { ...request, path: insert(path), ...(body ? { body: insert(body) } : {}) };
    const { entry, exchange } = await ledger.send(call, as);
    const { error, status } = exchange;
    if (await listener.isCalled(CALL_MS)) {
      return failed(
        `"${step.name}" (${entry.id}) made the server call an address of its own machine`,
      );
    }
    if (error !== null) return inconclusive(`Proves nothing: ${error}`);
    const isRefused = status! < 500 && isSuccess(usual?.status);
    if (isSuccess(status) || isRefused) return null;
    return inconclusive(`Proves nothing: "${step.name}" was answered ${status}`);
  } finally {
    await listener.close();
  }
}

/** A volley, and one request more when several won: a request that may be repeated is no race. */
async function runVolley(
  { step, request, as }: Sent,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const entry = await ledger.race(request, step.race!, as);
  const verdict = judgeVolley(step, entry);
  const won = entry.statuses!.filter(isSuccess).length;
  if (step.needs_winner && won === 0 && verdict === null) {
    return inconclusive(`Proves nothing: none of the ${step.race} succeeded`);
  }
  if (step.same_answer || won < 2) return verdict;
  const { exchange } = await ledger.send(request, as);
  return verdictAfter(exchange.status, won, step.race!) ?? verdict;
}

/** The statuses by which a service hides what belongs to somebody else. */
const DENIALS = [401, 403, 404];

function judgeDenied(
  step: PlaybookStep,
  what: string,
  { status, body }: HttpExchange,
  { answers }: Seen,
): Verdict | null {
  if (step.exists && status === 404) return inconclusive(`Proves nothing: ${what} found no record`);
  if (DENIALS.includes(status!)) return null;
  if (!isSuccess(status)) {
    return inconclusive(`Proves nothing: ${what} was answered ${status}, for another reason`);
  }
  // A list that leaves out what belongs to others is a refusal too.
  if (step.method === "GET" && !step.forge && isEmptyList(body)) {
    return inconclusive(`Cannot tell: ${what} was answered ${status} with an empty list`);
  }
  const shared = step.guarded && whyShared(step.guarded, body, answers);
  if (shared) return inconclusive(`Cannot tell: ${what} was answered ${status}, but ${shared}`);
  return failed(`${what} was answered ${status} instead of 401, 403 or 404`);
}

/** Why a record that another identity is shown may be meant for everybody; null for a private one. */
function whyShared(
  { record, list, open_list, parent, by_address }: NonNullable<PlaybookStep["guarded"]>,
  body: string,
  answers: Seen["answers"],
): string | null {
  const of = (name: string | undefined) => name === undefined ? undefined : answers.get(name);
  const read = of(record);
  if (read && !isSuccess(read.status)) return null;
  const shown = read?.body ?? body;
  const open = of(open_list);
  if (open && isSuccess(open.status) && isListed(shown, open.body)) {
    return `"${open_list}" shows the record without a login`;
  }
  if (hasPrivateMember(shown)) return null;
  const listed = of(list);
  if (listed && isSuccess(listed.status)) {
    return isListed(shown, listed.body) ? `"${list}" shows the record to everybody` : null;
  }
  const above = of(parent);
  if (by_address || (above && DENIALS.includes(above.status!))) return null;
  return "nothing shows that the record is private";
}

/** A volley fails when more than one of its requests wins. */
function judgeVolley(step: PlaybookStep, entry: LedgerEntry): Verdict | null {
  const statuses = entry.statuses!;
  const winners = statuses.filter(isSuccess);
  const what = `"${step.name}" (${entry.id})`;
  const answers = entry.race?.winning_answers ?? 0;
  if (step.same_answer ? answers > 1 : winners.length > 1) {
    const how = step.same_answer ? `, with ${answers} different answers` : "";
    return failed(
      `${what}: ${howMany(winners.length, step.race!)} succeeded; only one should${how}`,
    );
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
  if (step.keeps !== undefined && !holdsValue(body, seen.fill(step.keeps))) {
    return `does not show the record ${seen.fill(step.keeps)}`;
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

/** True where a member of any object has this value, whatever its name is. */
function holdsValue(body: string, encoded: string): boolean {
  return objectsOf(body).some((one) =>
    Object.values(one).some((value) =>
      ["string", "number"].includes(typeof value) &&
      encodeURIComponent(String(value).toWellFormed()) === encoded
    )
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
 * `over_half:balance` is a whole number above half of that member, however deep.
 */
function valueOf(exchange: HttpExchange, from: string, sent = ""): string | null {
  const [kind, what = ""] = from.split(/:(.*)/s);
  if (kind === "find" || kind === "sent") {
    const found = deepMember(kind === "find" ? exchange.body : sent, what);
    return found === null ? null : encodeURIComponent(found);
  }
  if (kind === "over_half") return overHalf(Number(deepMember(exchange.body, what) ?? NaN));
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

/** The least whole number above half of an amount; null where it is more than the amount. */
function overHalf(amount: number): string | null {
  const half = Math.floor(amount / 2) + 1;
  return half <= amount && Number.isSafeInteger(half) ? String(half) : null;
}

function fillIn(text: string, values: Map<string, string>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values.get(name) ?? whole);
}

/** Keeps the records of two runs against one target apart. */
function unique(): string {
  return crypto.randomUUID().slice(0, 8);
}
