import { internalDetailIn } from "../execute/leaks.ts";
import type { Execution, Scenario } from "../schema.ts";

/** A scenario and its execution. */
export interface Ran {
  scenario: Scenario;
  execution: Execution;
}

/** The cause of every failure about logins in a service that asks nobody for one. */
export const NO_LOGIN = "no login anywhere";
/** The cause of every failure on a target that has answered no request. */
export const NO_ANSWER = "no answer at all";
const ABOUT_LOGIN = /^(auth_|forged_token|foreign_|admin_only|uneven_rights)/;

/** Families whose failures show more than a crash. */
const ORACLE = /^(sql_injection|forged_token|foreign_|granted_|own_role)/;

// The reason of an execution is all that a stored result says about a crash, a leak or a stop.
const RACED = /race made the server fail/;
const CRASH = /\b(?:Answered|fail with|was answered) (5\d\d)\b/;
const LEAK = /(?:shows|is) a (stack trace|database error|debug page)/;
/** The connection ended without an answer, or the whole target did. */
const STOPPED =
  /stopped the target|gives no HTTP answer since|the connection was reset|the answer was cut off/;
/** The target took the request and gave no answer, or none that is HTTP. */
const UNANSWERED = /\bno good answer: /i;
const SILENT = /; the target gives no HTTP answer$/;
/** Families that look for a slow answer. */
const SLOW = /^slow_|_by_time$/;

/** The failures of a run by their cause, in the order of execution; without the accepted ones. */
export function groupByCause(ran: readonly Ran[]): Map<string, Ran[]> {
  const causeIn = causesIn(ran);
  const groups = new Map<string, Ran[]>();
  const add = (cause: string, one: Ran) => groups.set(cause, [...(groups.get(cause) ?? []), one]);
  for (const one of ran) {
    const { status, evidence } = one.execution;
    if (status !== "failed" || evidence.accepted !== undefined) continue;
    add(causeIn(one), one);
    const leaking = leakOfCrash(one);
    // One handler writes the answers to every crash.
    if (leaking !== null) add("leaks in crashes", leaking);
  }
  return groups;
}

/** The cause of everything that fails after this scenario has broken the target. */
export function damageBy(scenario_id: unknown): string {
  return `damage by ${scenario_id}`;
}

/** True for a failure that shows only a crash, or a request without an answer. */
export function isCrash(one: Ran): boolean {
  return isSilent(one) || crashOf(one) !== null;
}

function isSilent({ scenario, execution }: Ran): boolean {
  const family = String(scenario.family);
  return UNANSWERED.test(execution.reason) && !SLOW.test(family) && !ORACLE.test(family);
}

/** The status of a crash that is the whole failure; null for any other failure. */
export function crashOf({ scenario, execution }: Ran): string | null {
  if (ORACLE.test(String(scenario.family ?? ""))) return null;
  return CRASH.exec(execution.reason)?.[1] ?? null;
}

/** The internal detail that an answer shows, such as `stack trace`; null for none. */
export function leakIn({ reason }: Execution): string | null {
  return LEAK.exec(reason)?.[1] ?? null;
}

/** How a connection ended without an answer: with its target, or alone; null if it did not. */
export function stopIn({ reason }: Execution): "target" | "connection" | null {
  if (!STOPPED.test(reason)) return null;
  return /stopped the target|gives no HTTP answer since/.test(reason) ? "target" : "connection";
}

/** Returns the function that names the cause of each failure, given all that ran. */
function causesIn(ran: readonly Ran[]): (one: Ran) => string {
  const failures = ran.filter(({ execution }) => execution.status === "failed");
  const isPublic = asksNobody(ran);
  const open = new Set(
    failures.filter(({ scenario }) => scenario.family === "auth_missing")
      .map(({ scenario }) => scenario.operation),
  );
  const down = new Set(
    failures.filter(({ scenario }) => scenario.family === "good_case").map(causeOf),
  );
  return (one) => {
    const { scenario: { family, operation }, execution: { reason } } = one;
    if (wasAnswered(reason)) {
      if (isPublic && ABOUT_LOGIN.test(String(family))) return NO_LOGIN;
      // Where nobody asks for a login, a wrong one is the same finding.
      if (/^auth_/.test(String(family)) && open.has(operation)) return `auth_missing ${operation}`;
    }
    const cause = causeOf(one);
    // A crash that only requests at the same moment cause, unless the request always crashes.
    return RACED.test(reason) && !down.has(cause) ? `raced ${cause}` : cause;
  };
}

/** True for a failure whose requests got answers, none of which is a crash. */
function wasAnswered(reason: string): boolean {
  return !CRASH.test(reason) && !UNANSWERED.test(reason);
}

/** True where several operations document a login, and each was answered without one. */
function asksNobody(ran: readonly Ran[]): boolean {
  const tried = ran.filter(({ scenario, execution: { status } }) =>
    scenario.family === "auth_missing" && (status === "passed" || status === "failed")
  );
  return tried.length > 1 &&
    tried.every(({ execution: { status, reason } }) => status === "failed" && wasAnswered(reason));
}

function causeOf(one: Ran): string {
  const { scenario: { family, operation }, execution } = one;
  const { evidence, reason, scenario_id } = execution;
  if (typeof evidence.after_damage_by === "string") return damageBy(evidence.after_damage_by);
  if (SILENT.test(reason)) return NO_ANSWER;
  if (/left the target broken/.test(reason)) return damageBy(one.scenario.scenario_id);
  if (typeof operation !== "string") return scenario_id;
  const leak = leakIn(execution);
  // One setting shows every trace; a message of the database belongs to its query.
  if (leak !== null) return leak === "database error" ? `${leak} ${operation}` : leak;
  if (stopIn(execution) !== null) return `stopped ${operation}`;
  if (isSilent(one)) return `unanswered ${operation}`;
  const crash = crashOf(one);
  // The clock shows the same hole as the answers.
  const same = String(family).replace(/_by_time$/, "");
  return crash === null ? `${same} ${operation}` : `${crash} ${operation}`;
}

/** The leak of a crash whose answer shows an internal detail of the service; null without one. */
function leakOfCrash({ scenario, execution }: Ran): Ran | null {
  const { status, body = "" } = (execution.evidence.response ?? {}) as {
    status?: number;
    body?: string;
  };
  if (typeof scenario.operation !== "string" || leakIn(execution) !== null) return null;
  const detail = internalDetailIn(body);
  if (detail === null) return null;
  const reason = `Answered ${status}, and the body shows ${detail}`;
  return { scenario, execution: { ...execution, reason } };
}
