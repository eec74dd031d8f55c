import type { Exec, ExecutionStatus } from "../schema.ts";
import { type HttpExchange, isSuccess } from "./http.ts";
import { leakOf } from "./leaks.ts";
import type { Race } from "./race/race.ts";
import { isEnded } from "./transport_error.ts";

/** The status of an execution and one sentence of explanation. */
export interface Verdict {
  status: ExecutionStatus;
  reason: string;
}

/** Passes with the expected status, or without one any status but 5xx, and no forbidden content. */
export function judgeExchange(exec: Exec, exchange: HttpExchange): Verdict {
  const verdict = judgeStatus(exec, exchange);
  const leak = verdict.status === "passed" ? leakOf(exec, exchange) : null;
  return leak === null ? verdict : failed(`${verdict.reason}, but ${leak}`);
}

function judgeStatus(exec: Exec, exchange: HttpExchange): Verdict {
  if (exchange.error?.startsWith("cannot be sent")) {
    return inconclusive(`The request ${exchange.error}`);
  }
  if (exchange.error !== null) return failed(`No good answer: ${exchange.error}`);
  const status = exchange.status!;
  if (status < 100) return failed(`Answered ${status}, which is no status of HTTP`);
  if (exec.expected_end === "denied") return judgeDenial(status);
  const expected = exec.expected_status || 0;
  if (expected === 0) {
    if (exec.expected_end === "refused") return judgeRefusal(exec, status);
    return status >= 500
      ? failed(`Answered ${status}: the server failed`)
      : passed(`Answered ${status}`);
  }
  if (status === expected) return passed(`Answered ${status} as expected`);
  // The request also breaks a documented rule, so the service may refuse it first.
  if (exec.expected_end === "refused" && (status === 400 || status === 422)) {
    return passed(`Refused with ${status}`);
  }
  const missing = missingFor(exec, status);
  return missing === null
    ? failed(`Answered ${status} instead of ${expected}`)
    : unread(status, missing);
}

/** Statuses that a service sends before it looks at the request. */
const UNREAD: Record<number, string> = {
  404: "nothing is served there",
  405: "nothing is served there by this verb",
  429: "too many requests were sent",
};

/** Services choose different 4xx to refuse. Only accepting or crashing is wrong. */
function judgeRefusal(exec: Exec, status: number): Verdict {
  const missing = missingFor(exec, status) ?? UNREAD[status];
  if (missing !== undefined) return unread(status, missing);
  if (status >= 500) return failed(`Answered ${status}: the server failed`);
  return status >= 400
    ? passed(`Refused with ${status}`)
    : failed(`Answered ${status} instead of refusing it`);
}

/** Either 401 or 403 denies a request without a login: services and documents confuse the two. */
function judgeDenial(status: number): Verdict {
  if (status === 401 || status === 403) return passed(`Refused with ${status}`);
  if (status >= 500) return failed(`Answered ${status}: the server failed`);
  if (isSuccess(status)) return failed(`Answered ${status} instead of 401 or 403`);
  return unread(status, UNREAD[status] ?? "that is no refusal of a login");
}

function unread(status: number, missing: string): Verdict {
  return inconclusive(`Answered ${status} before it looked at the request: ${missing}`);
}

/** The presumption of the scenario that the target does not meet; null when it meets all. */
function missingFor({ presumes = [] }: Exec, status: number): string | null {
  if (presumes.includes("login") && (status === 401 || status === 403)) {
    return "give a login (-H or --as)";
  }
  return presumes.includes("record") && status === 404 ? "there is no such record" : null;
}

/**
 * Fails a volley with more than one 2xx (the race), with a 5xx or with a transport error. A volley
 * without a winner passes as vacuous; of a race with requests in sequence it decides nothing.
 */
export function judgeRace({ expected_status = 0, sequence }: Exec, race: Race): Verdict {
  const count = race.shots.length;
  const winners = race.shots.filter(({ status }) => isSuccess(status));
  if (race.error) return failed(`The race could not be run: ${race.error}`);
  if (winners.length > 1) {
    return failed(`${howMany(winners.length, count)} succeeded; only one should: a race`);
  }
  const broken = race.shots.find(({ error }) => error !== null);
  if (broken && !race.shots.some(isRefusedEarly) && !isUnreadByAll(race)) {
    return failed(`A request of the race got no good answer: ${broken.error}`);
  }
  const crash = crashOf(race);
  if (crash !== null) return crash;
  const why = race.notes.length > 0 ? `; ${race.notes.join("; ")}` : "";
  if (winners.length === 0) {
    const isAsked = expected_status > 0 &&
      race.shots.every(({ status }) => status === expected_status);
    if (isAsked) {
      return passed(`All ${inWords(count)} were answered ${expected_status} as expected${why}`);
    }
    const none = `${noWinner(race)}${whyNone(race)}${why}`;
    return sequence ? inconclusive(`Proves nothing: ${none}`) : passed(`vacuous: ${none}`);
  }
  return passed(`Only one of ${inWords(count)} succeeded${why}`);
}

/** True for a service that may close a connection before the last byte is sent on it. */
function isRefusedEarly({ status, answered_us }: Race["shots"][number]): boolean {
  return status !== null && status >= 400 && status < 500 && answered_us !== null &&
    answered_us < 0;
}

/** True where every answer refuses the request unread, so that the server may reset the others. */
function isUnreadByAll({ shots }: Race): boolean {
  const answered = shots.filter(({ error }) => error === null);
  return answered.length > 0 && answered.every(({ status }) => REFUSED_UNREAD.includes(status!)) &&
    shots.every(({ error }) => error === null || isEnded(error));
}

const REFUSED_UNREAD = [401, 403, 404, 405, 429];

/** The failure of a volley that the server met with a 5xx; null without one. */
export function crashOf({ shots }: Pick<Race, "shots">): Verdict | null {
  const crashed = shots.find(({ status }) => status! >= 500);
  return crashed ? failed(`The race made the server fail with ${crashed.status}`) : null;
}

/**
 * Judges one more request after a volley with several winners. Inconclusive where it succeeds too, is
 * limited (429) or gets no answer. Null where the service refuses it: only one could win.
 */
export function judgeOneMore(
  status: number | null,
  winners: number,
  count: number,
): Verdict | null {
  const many = `Proves no race: ${howMany(winners, count)} succeeded, and one more afterwards`;
  if (isSuccess(status)) return inconclusive(`${many} did too, so the request may be repeated`);
  if (status === null || status === 429) {
    const why = status === null ? "got no answer" : "was refused only because there were too many";
    return inconclusive(`${many} ${why}`);
  }
  return null;
}

/** `all ten were refused (400)`, or that none succeeded, where not each answer is a refusal. */
function noWinner({ shots }: Race): string {
  const answered = shots.filter(({ status }) => status !== null);
  const statuses = [...new Set(answered.map(({ status }) => status))].join(", ");
  return answered.every(({ status }) => status! >= 400)
    ? `all ${inWords(shots.length)} were refused (${statuses})`
    : `none of ${inWords(shots.length)} succeeded (${statuses})`;
}

/** `All ten` or `3 of ten`. */
export function howMany(some: number, all: number): string {
  return some === all ? `All ${inWords(all)}` : `${some} of ${inWords(all)}`;
}

const WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");

/** A small number as a word. */
function inWords(count: number): string {
  return WORDS[count] ?? String(count);
}

function whyNone({ shots }: Race): string {
  const refused = shots.every(({ status }) => status === 401 || status === 403);
  return refused ? "; none was authorised" : "";
}

export function passed(reason: string): Verdict {
  return { status: "passed", reason };
}

export function failed(reason: string): Verdict {
  return { status: "failed", reason };
}

export function inconclusive(reason: string): Verdict {
  return { status: "inconclusive", reason };
}
