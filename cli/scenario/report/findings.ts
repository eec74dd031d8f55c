import {
  byPriority,
  type Execution,
  type Finding,
  type Priority,
  type Scenario,
} from "../schema.ts";
import type { RunResult } from "../summary.ts";
import {
  crashOf,
  damageBy,
  groupByCause,
  isCrash,
  leakIn,
  NO_ANSWER,
  NO_LOGIN,
  type Ran,
  stopIn,
} from "./cause.ts";
import { weaknessOf } from "./cwe.ts";
import { type Logins, repeatOf } from "./repeat.ts";

/** The most characters of an answer in a finding. The pack has all that was kept. */
const ANSWER_CHARS = 200;

/** The target of a run, and the logins that a repetition needs. */
type Repeating = Logins & { target: string | null };

/** The findings of a result; computes them where the run did not. */
export function foundIn(result: RunResult): Finding[] {
  return result.findings ?? findingsOf(result, { target: result.summary.target });
}

/** ` for 9 causes`, where failures share one: JUnit and SARIF count causes. Else null. */
export function causesOf(result: RunResult): string | null {
  const { failed, accepted } = result.summary;
  const { length } = foundIn(result);
  if (length === failed - accepted) return null;
  return length === 1 ? " for 1 cause" : ` for ${length} causes`;
}

/**
 * Folds failures by their cause and ranks them: a crash by its operation and status, anything else
 * by its family and operation. A failure that merely repeats a failing good case belongs to it.
 */
export function findingsOf(
  { scenarios, executions }: { scenarios: readonly Scenario[]; executions: readonly Execution[] },
  repeating: Repeating,
): Finding[] {
  const byId = new Map(scenarios.map((one) => [one.scenario_id, one]));
  const ran = executions.map((execution) => ({
    scenario: byId.get(execution.scenario_id)!,
    execution,
  }));
  return [...groupByCause(ran)].map(([cause, group]) => {
    const finding = findingOf(sortGroup(group, cause), severityOf(group, cause), repeating);
    return { ...finding, ...OF_TARGET[cause] };
  }).sort((a, b) => byPriority({ priority: a.severity }, { priority: b.severity }));
}

/** The findings about the whole target. */
const OF_TARGET: Record<string, Partial<Finding>> = {
  [NO_LOGIN]: {
    title: "No operation asks for a login",
    operation: null,
    happened: "Every operation that documents a login was answered without one",
  },
  [NO_ANSWER]: { title: "The target gives no HTTP answer", operation: null },
};

/** The request that broke the target first, else the good case, then the most serious scenario. */
function sortGroup(group: readonly Ran[], cause: string): Ran[] {
  const isCulprit = ({ scenario }: Ran) => cause === damageBy(scenario.scenario_id);
  const isMissing = ({ scenario }: Ran) => scenario.family === "auth_missing";
  return [...group].sort((a, b) =>
    Number(isCulprit(b)) - Number(isCulprit(a)) ||
    Number(a.scenario.is_edge_case) - Number(b.scenario.is_edge_case) ||
    Number(isMissing(b)) - Number(isMissing(a)) ||
    byPriority(a.scenario, b.scenario)
  );
}

/** The worst priority of the group, or less: a crash or a leak shows no critical hole. */
function severityOf(group: readonly Ran[], cause: string): Priority {
  const [first] = sortGroup(group, cause);
  const [worst] = group.map(({ scenario }) => scenario).sort(byPriority);
  if (typeof worst!.family !== "string") return worst!.priority;
  if (leakIn(first!.execution) !== null) return "medium";
  return isCrash(first!) && worst!.priority === "critical" ? "high" : worst!.priority;
}

function findingOf(
  [first, ...others]: Ran[],
  severity: Priority,
  { target, ...logins }: Repeating,
): Finding {
  const { scenario, execution } = first!;
  const family = String(scenario.family ?? "");
  const leaks = family !== "" && leakIn(execution) !== null;
  const answer = (execution.evidence.response as { body?: string } | undefined)?.body;
  return {
    title: titleOf(first!),
    severity,
    cwe: leaks ? "CWE-209" : failsBadly(first!) ? "CWE-755" : weaknessOf(family),
    operation: typeof scenario.operation === "string" ? scenario.operation : null,
    family: family === "" ? "scenario" : leaks ? "leaking_message" : family,
    expected: leaks
      ? "An error says what was wrong, and nothing of the code."
      : scenario.expected_behavior,
    scenario_id: scenario.scenario_id,
    also: others.map(({ execution }) => execution.scenario_id),
    happened: execution.reason,
    answer: answer === undefined || answer === "" ? null : answer.slice(0, ANSWER_CHARS),
    repeat: target === null ? null : repeatOf(scenario, target, logins),
  };
}

/** True for a crash without a leak, and for a connection that ended without an answer. */
function failsBadly(one: Ran): boolean {
  return stopIn(one.execution) !== null || (isCrash(one) && leakIn(one.execution) === null);
}

/** A leak, and a scenario of several requests that met a crash, are named by that. */
function titleOf(one: Ran): string {
  const { scenario: { title, operation, playbook }, execution } = one;
  if (typeof operation !== "string") return title;
  const leak = leakIn(execution);
  if (leak !== null) return `${operation} shows a ${leak}`;
  const stop = stopIn(execution);
  if (stop === "target") return `${operation} stops the server`;
  if (stop === "connection") return `${operation} ends the connection without an answer`;
  const crash = playbook === undefined ? null : crashOf(one);
  return crash === null ? title : `${operation} fails with ${crash}`;
}
