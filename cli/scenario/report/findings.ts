import { byPriority, type Execution, type Priority, type Scenario } from "../schema.ts";
import { curlOf } from "./curl.ts";

/** Failures with one cause. */
export interface Finding {
  title: string;
  severity: Priority;
  /** The weakness by its number in the Common Weakness Enumeration; null for other failures. */
  cwe: string | null;
  operation: string | null;
  /** The scenario that shows it, and all others that fail for the same cause. */
  scenario_id: string;
  also: string[];
  happened: string;
  /** The first bytes of the answer; null where several requests were sent. */
  answer: string | null;
  /** A command line with a variable for each credential; null for prose. */
  repeat: string | null;
}

/** The most bytes of an answer in a finding. The pack has all that was kept. */
const ANSWER = 200;

const CWE: [RegExp, string][] = [
  [/^sql_injection|_quote$/, "CWE-89"],
  [/^foreign_|^existence_leak/, "CWE-639"],
  [/^forged_token|^auth_garbage|^auth_scheme/, "CWE-347"],
  [/^auth_missing/, "CWE-306"],
  [/^admin_only|^method_unlisted/, "CWE-285"],
  [/^secrets_shown/, "CWE-200"],
  [/^granted_on_create|^mass_assignment|^privileged_create/, "CWE-915"],
  [/^negative_amount/, "CWE-839"],
  [/^user_enumeration/, "CWE-204"],
  [/^double_|^same_key_at_once|^lost_update/, "CWE-362"],
  [/^stale_token/, "CWE-613"],
  [/_traversal$/, "CWE-22"],
  [/_crlf$/, "CWE-113"],
  [/_markup$/, "CWE-79"],
  [/^body_deep/, "CWE-674"],
];

/** A crash, with the status that shows it. */
const CRASH = /\b(?:Answered|fail with|was answered) (5\d\d)\b/;
const LEAK = /shows a (stack trace|database error)/;

/**
 * Folds failures by their cause and ranks them: a crash by its operation and status, anything else
 * by its family and operation. What merely repeats a failing good case is the same finding.
 */
export function findingsOf(
  { scenarios, executions }: { scenarios: readonly Scenario[]; executions: readonly Execution[] },
  { target, login = [] }: { target: string | null; login?: readonly string[] },
): Finding[] {
  const byId = new Map(scenarios.map((one) => [one.scenario_id, one]));
  const groups = new Map<string, { scenario: Scenario; execution: Execution }[]>();
  for (const execution of executions) {
    if (execution.status !== "failed" || execution.evidence.accepted !== undefined) continue;
    const scenario = byId.get(execution.scenario_id)!;
    const cause = causeOf(scenario, execution);
    groups.set(cause, [...(groups.get(cause) ?? []), { scenario, execution }]);
  }
  return [...groups.values()].map((group) => {
    // The good case shows a cause best, then the most serious scenario.
    const sorted = [...group].sort((a, b) =>
      Number(a.scenario.is_edge_case) - Number(b.scenario.is_edge_case) ||
      byPriority(a.scenario, b.scenario)
    );
    const severity = [...group].map(({ scenario }) => scenario).sort(byPriority)[0]!.priority;
    return findingOf(sorted, severity, { target, login });
  }).sort((a, b) => byPriority({ priority: a.severity }, { priority: b.severity }));
}

function causeOf(scenario: Scenario, { evidence, reason, scenario_id }: Execution): string {
  const { family, operation } = scenario;
  if (typeof operation !== "string") return scenario_id;
  const culprit = evidence.after_damage_by;
  if (typeof culprit === "string") return `damage by ${culprit}`;
  if (/left the target broken/.test(reason)) return `damage by ${scenario_id}`;
  const leak = LEAK.exec(reason)?.[1];
  if (leak !== undefined) return `${leak} ${operation}`;
  const crash = ORACLE.test(String(family)) ? undefined : CRASH.exec(reason)?.[1];
  return crash === undefined ? `${family} ${operation}` : `${crash} ${operation}`;
}

/** Families whose failures are more than a crash. */
const ORACLE = /^(sql_injection|forged_token|foreign_|granted_)/;

function findingOf(
  [first, ...others]: { scenario: Scenario; execution: Execution }[],
  severity: Priority,
  { target, login }: { target: string | null; login: readonly string[] },
): Finding {
  const { scenario, execution } = first!;
  const family = String(scenario.family ?? "");
  const isCrash = CRASH.test(execution.reason) && !ORACLE.test(family);
  const known = CWE.find(([pattern]) => pattern.test(family))?.[1] ?? null;
  const answer = (execution.evidence.response as { body?: string } | undefined)?.body;
  return {
    title: scenario.title,
    severity,
    cwe: LEAK.test(execution.reason) ? "CWE-209" : isCrash ? "CWE-755" : known,
    operation: typeof scenario.operation === "string" ? scenario.operation : null,
    scenario_id: scenario.scenario_id,
    also: others.map(({ execution }) => execution.scenario_id),
    happened: execution.reason,
    answer: answer === undefined || answer === "" ? null : answer.slice(0, ANSWER),
    repeat: target === null ? null : repeatOf(scenario, target, login),
  };
}

/** The command line of one request, with a shell variable for each credential of the run. */
function repeatOf(scenario: Scenario, target: string, login: readonly string[]): string | null {
  const command = curlOf(scenario, target);
  const { exec } = scenario;
  if (command === null || exec?.mode !== "http" || exec.anonymous) return command;
  const own = new Set(Object.keys(exec.headers ?? {}).map((name) => name.toLowerCase()));
  const added = login.filter((name) => !own.has(name.toLowerCase())).map((name) =>
    `-H "${name}: $${name.replaceAll(/\W/g, "_").toUpperCase()}" `
  );
  return command.replace("--path-as-is ", () => `--path-as-is ${added.join("")}`);
}
