import type { HttpExchange } from "../execute/http.ts";
import { leakOf } from "../execute/leaks.ts";
import type { Verdict } from "../execute/verdict.ts";
import { changedMember, identityOf, recordsOf, saysTheSame } from "./compare.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { PlaybookStep } from "./playbook_schema.ts";

/** What a step may be compared with. */
export interface Seen {
  fill: (text: string) => string;
  /** The answers of the steps so far, by the step's name. */
  answers: ReadonlyMap<string, HttpExchange>;
}

/** What is wrong with the answer to one step; null where the playbook may go on. */
export function judgeStep(
  step: PlaybookStep,
  entry: LedgerEntry,
  exchange: HttpExchange,
  seen: Seen,
): Verdict | null {
  const what = `"${step.name}" (${entry.id})`;
  if (entry.error !== null) return answer(step, `${what} got no good answer: ${entry.error}`);
  const status = entry.status!;
  if (status >= 500 && !expects(step, status)) {
    return failed(`${what} made the server fail with ${status}`);
  }
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

/** A volley is lost when more than one of its requests won. */
export function judgeVolley(step: PlaybookStep, entry: LedgerEntry): Verdict | null {
  const statuses = entry.statuses!;
  const winners = statuses.filter((status) => status !== null && status >= 200 && status < 300);
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

/** A step that could not be set up says nothing of the target. */
export function answer(step: PlaybookStep, reason: string): Verdict {
  return step.setup ? inconclusive(`Could not be set up: ${reason}`) : failed(reason);
}

/** Nothing is known by this. */
export function inconclusive(reason: string): Verdict {
  return { status: "inconclusive", reason };
}

function failed(reason: string): Verdict {
  return { status: "failed", reason };
}

function expects({ expect = [] }: PlaybookStep, status: number): boolean {
  return expect.some((one) => one === status || one === `${Math.floor(status / 100)}xx`);
}

function wrongBody(step: PlaybookStep, exchange: HttpExchange, seen: Seen): string | null {
  const { body } = exchange;
  const bodyOf = (name: string) => seen.answers.get(name)?.body ?? "";
  if (step.same_as && !saysTheSame(bodyOf(step.same_as), body)) {
    return `answers something else than "${step.same_as}"`;
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
  return ids.some((id) => encodeURIComponent(id.replace(/^"(.*)"$/, "$1")) === encoded);
}

/** A page must hold what its two halves hold, each record once. */
function wrongJoin(halves: string[], whole: string, names: string[]): string | null {
  const ids = (body: string) => (recordsOf(body) ?? []).map(identityOf);
  const joined = halves.flatMap(ids);
  const all = ids(whole);
  if (new Set(joined).size < joined.length) return `"${names.join('" and "')}" show a record twice`;
  const lost = all.find((id) => !joined.includes(id));
  if (lost !== undefined) return `shows ${lost.slice(0, 60)}, which none of its halves shows`;
  return null;
}
