import { type HttpExchange, isSuccess } from "../execute/http.ts";
import { failed, inconclusive, type Verdict } from "../execute/verdict.ts";
import { objectsOf, recordsOf, saysTheSame } from "./compare.ts";
import type { PlaybookStep } from "./playbook_schema.ts";

type Answers = ReadonlyMap<string, HttpExchange>;

/**
 * The verdict of a step that compares behaviour: an injection, granted privileges, an enumeration.
 * Undefined for any other step, null where it shows nothing.
 */
export function judgeOracle(
  step: PlaybookStep,
  what: string,
  exchange: HttpExchange,
  answers: Answers,
): Verdict | null | undefined {
  if (step.breaks_unlike !== undefined) return judgeQuote(step, what, exchange, answers);
  if (step.opens_unlike !== undefined) return judgeOpening(step, what, exchange, answers);
  if (step.grants) return judgeGrants(step, what, exchange);
  if (step.tells_apart !== undefined) return judgeEnumeration(step, what, exchange, answers);
  if (step.granted) return judgeGranted(step, what, exchange, answers);
  if (step.foreseen !== undefined) return judgeForeseen(step, what, exchange, answers);
  if (step.accepts_unlike !== undefined) return judgeAcceptance(step, what, exchange, answers);
  if (step.instructed_unlike !== undefined) {
    return judgeInstructions(step, what, exchange, answers);
  }
  if (step.effect) return judgeEffect(step, exchange, answers);
  if (step.refuses) {
    return isSuccess(exchange.status)
      ? failed(`${what} was answered ${exchange.status} instead of refusing it`)
      : null;
  }
  return step.probe ? null : undefined;
}

/** A lone quote that crashes where a doubled quote does not ends a text of the query. */
function judgeQuote(
  step: PlaybookStep,
  what: string,
  { status }: HttpExchange,
  answers: Answers,
): Verdict | null {
  const other = answers.get(step.breaks_unlike!);
  if (!other || status === null || status < 500) return null;
  if (other.status === null || other.status >= 500) {
    return inconclusive(`Proves nothing: ${what} and "${step.breaks_unlike}" both made it fail`);
  }
  return failed(
    `${what} was answered ${status}, but "${step.breaks_unlike}" ${other.status}: ` +
      "the quote reaches the query",
  );
}

/** A condition that is always true finds something where an unknown value finds nothing. */
function judgeOpening(
  step: PlaybookStep,
  what: string,
  exchange: HttpExchange,
  answers: Answers,
): Verdict | null {
  const unknown = answers.get(step.opens_unlike!);
  if (!unknown || !isSuccess(exchange.status)) return null;
  const never = answers.get(step.closed_unlike ?? "");
  // A rule for the characters of a password is no query.
  if (never && isSuccess(never.status) && saysTheSame(never.body, exchange.body)) return null;
  const isOpen = isSuccess(unknown.status)
    ? step.method === "GET" && recordsOf(unknown.body)?.length === 0 &&
      (recordsOf(exchange.body)?.length ?? 0) > 0
    : unknown.status !== null && unknown.status < 500;
  if (!isOpen) return null;
  const how = isSuccess(unknown.status) ? "found nothing" : `was answered ${unknown.status}`;
  return failed(
    `${what} was answered ${exchange.status} like a value that exists, but ` +
      `"${step.opens_unlike}" ${how}: the condition reaches the query`,
  );
}

/** A record that was made with privileges has one that a record made without them lacks. */
function judgeGrants(
  { grants }: PlaybookStep,
  what: string,
  { status, body }: HttpExchange,
): Verdict | null {
  if (!grants || !isSuccess(status)) return null;
  const records = objectsOf(body);
  const named = (name: string) =>
    records.find((one) => Object.values(one).some((value) => value === name));
  const plain = named(grants.plain);
  if (!plain) return null;
  for (const { name, member, value } of grants.more) {
    const record = named(name);
    if (!record || !Object.hasOwn(record, member)) continue;
    if (sameValue(record[member], value) && !sameValue(plain[member], value)) {
      return failed(`${what} shows "${member}": ${JSON.stringify(value)}, as it was sent`);
    }
  }
  return null;
}

/** A record of somebody else is accepted where one that nobody has is refused. */
function judgeAcceptance(
  step: PlaybookStep,
  what: string,
  { status }: HttpExchange,
  answers: Answers,
): Verdict | null {
  const unknown = answers.get(step.accepts_unlike!)?.status ?? null;
  if (!isSuccess(status)) {
    const isRefused = status !== null && status >= 400 && status < 500;
    return isRefused ? null : inconclusive(`Proves nothing: ${what} was answered ${status}`);
  }
  if (unknown === null || unknown < 400 || unknown >= 500) {
    return inconclusive(
      `Cannot tell: ${what} was answered ${status}, and "${step.accepts_unlike}" ${unknown} too`,
    );
  }
  return failed(
    `${what} was answered ${status}, but "${step.accepts_unlike}" ${unknown}: ` +
      "it was looked up, and not whose it is",
  );
}

/** Text that tells a model who it is and what it must do. */
const INSTRUCTIONS =
  /\byou are (?:an?|the)\b[^"\n]{0,120}\b(?:assistant|agent|bot|support|helper|model|expert)\b/i;
const RULES = /\b(?:must|always|never|do not|should|have access|instructions|rules)\b/i;

/** The answer shows instructions of a model that the usual answer does not show. */
function judgeInstructions(
  step: PlaybookStep,
  what: string,
  { status, body }: HttpExchange,
  answers: Answers,
): Verdict | null {
  const shown = INSTRUCTIONS.exec(body);
  const usual = answers.get(step.instructed_unlike!)?.body ?? "";
  if (!isSuccess(status)) {
    return inconclusive(`Proves nothing: ${what} was answered ${status}`);
  }
  if (!shown || INSTRUCTIONS.test(usual) || !RULES.test(body.slice(shown.index))) return null;
  return failed(`${what} shows the instructions of the model: "${shown[0].slice(0, 80)}"`);
}

/** An accepted change fails, unless something shows that it had no effect. */
function judgeEffect(
  { effect }: PlaybookStep,
  { status: nobody }: HttpExchange,
  answers: Answers,
): Verdict | null {
  const { of: name, members } = effect!;
  const [tried, before, after] = [name, effect!.before ?? "", effect!.after ?? ""]
    .map((one) => answers.get(one));
  if (!tried || [401, 403, 404].includes(tried.status!)) return null;
  if (!isSuccess(tried.status)) {
    return inconclusive(`Proves nothing: "${name}" was answered ${tried.status}`);
  }
  const tells = (one: HttpExchange | undefined) =>
    isSuccess(one?.status ?? null) &&
    objectsOf(one!.body).some((object) => members.some((member) => Object.hasOwn(object, member)));
  const isShown = tells(before) && tells(after);
  if (isShown && saysTheSame(before!.body, after!.body)) {
    return inconclusive(`Cannot tell: "${name}" was answered ${tried.status}, and changed nothing`);
  }
  if (!isShown && isSuccess(nobody)) {
    return inconclusive(
      `Cannot tell: "${name}" was answered ${tried.status}, and a name that nobody has ${nobody} too`,
    );
  }
  return failed(`"${name}" was answered ${tried.status} instead of 401, 403 or 404`);
}

/** The answer to a creation shows the privilege in a place where the plain one shows another value. */
function judgeGranted(
  { granted }: PlaybookStep,
  what: string,
  { status, body }: HttpExchange,
  answers: Answers,
): Verdict | null {
  const { unlike, member, value } = granted!;
  const plain = objectsOf(answers.get(unlike)?.body ?? "").find((one) =>
    Object.hasOwn(one, member)
  );
  if (!plain || !isSuccess(status) || sameValue(plain[member], value)) return null;
  // An echo of the request has other members than the record.
  const names = Object.keys(plain).sort().join();
  const record = objectsOf(body).find((one) => Object.keys(one).sort().join() === names);
  return record && sameValue(record[member], value)
    ? failed(`${what} shows "${member}": ${JSON.stringify(value)}, as it was sent`)
    : null;
}

/** Members by which nobody else should find or open something. */
const HIDDEN =
  /^(\w+_)?(reference|ref|reference_?(number|code|id)|token|session|session_?id|coupon|voucher|nonce|invite|card_?number|api_?key)(_?(code|number))?$/i;
/** Numbers that grow by one may be counted on purpose, as invoices are. */
const SECRET = /token|session|coupon|voucher|nonce|invite|card_?number|key/i;
const NEAR_S = 120;

/** A hidden number that is the time, or grows by one. */
function judgeForeseen(
  step: PlaybookStep,
  what: string,
  exchange: HttpExchange,
  answers: Answers,
): Verdict | null {
  const first = answers.get(step.foreseen!);
  if (!first || !isSuccess(exchange.status)) return null;
  const now = Date.now() / 1_000;
  const before = new Map(hiddenIn(first.body));
  for (const [name, value] of hiddenIn(exchange.body)) {
    // A time stands alone or behind a prefix, not inside a longer number.
    const time = /(?:^|\D)(\d{10})(\d{3})?$/.exec(value)?.[1];
    if (time && Math.abs(Number(time) - now) < NEAR_S) {
      return failed(`${what} answers with the "${name}" ${value}, which is the time`);
    }
    const step_by = endOf(value) - endOf(before.get(name) ?? "");
    if (SECRET.test(name) && step_by >= 1 && step_by <= 3) {
      return failed(`${what} answers with the "${name}" ${value} after ${before.get(name)}`);
    }
  }
  return null;
}

function hiddenIn(body: string): [string, string][] {
  return objectsOf(body).flatMap((one) => Object.entries(one))
    .filter(([name, value]) => HIDDEN.test(name) && ["string", "number"].includes(typeof value))
    .map(([name, value]) => [name, String(value)]);
}

/** The number at the end of a text; NaN where there is none that can be compared. */
function endOf(text: string): number {
  const digits = /\d{1,15}$/.exec(text)?.[0];
  return digits === undefined ? NaN : Number(digits);
}

function sameValue(one: unknown, other: unknown): boolean {
  if (typeof other === "number") return Number(one) === other;
  if (typeof other === "boolean") return one === other || one === Number(other);
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Two refusals that differ in more than the name tell which users exist. */
function judgeEnumeration(
  step: PlaybookStep,
  what: string,
  exchange: HttpExchange,
  answers: Answers,
): Verdict | null {
  const other = answers.get(step.tells_apart!);
  if (!other || other.status === null || exchange.status === null) return null;
  if (other.status >= 500 || exchange.status >= 500 || [other, exchange].some(isLimited)) {
    return inconclusive(`Proves nothing: answered ${other.status} and ${exchange.status}`);
  }
  if (other.status === 422 && exchange.status === 422) {
    return inconclusive(
      `Proves nothing: both were answered 422, before anybody looked at the user`,
    );
  }
  if (other.status !== exchange.status) {
    return failed(
      `${what} was answered ${exchange.status}, but "${step.tells_apart}" ${other.status}`,
    );
  }
  return saysTheSame(other.body, exchange.body)
    ? null
    : failed(`${what} is refused in other words than "${step.tells_apart}"`);
}

function isLimited({ status }: HttpExchange): boolean {
  return status === 429;
}
