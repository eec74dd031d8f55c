import {
  byPriority,
  type Execution,
  type Finding,
  type Priority,
  type Scenario,
} from "../schema.ts";
import type { RunResult } from "../summary.ts";
import { insideOf } from "../execute/leaks.ts";
import { curlOf, quote, SHORT_BODY } from "./curl.ts";

/** The most bytes of an answer in a finding. The pack has all that was kept. */
const ANSWER = 200;

/** The logins of a run, without their values. */
export interface Logins {
  /** The headers of the run, and of its first identity. */
  login?: readonly string[];
  /** The headers of each identity. */
  identities?: ReadonlyMap<string, readonly string[]>;
}

/** The findings of a result; computes them where the run did not. */
export function foundIn(result: RunResult): Finding[] {
  return result.findings ?? findingsOf(result, { target: result.summary.target });
}

const CWE: [RegExp, string][] = [
  [/^sql_injection|_quote$/, "CWE-89"],
  [/^foreign_|^existence_leak/, "CWE-639"],
  [/^forged_token|^auth_garbage|^auth_scheme/, "CWE-347"],
  [/^auth_missing/, "CWE-306"],
  [/^admin_only|^method_unlisted|^uneven_rights/, "CWE-285"],
  [/^secrets_shown/, "CWE-200"],
  [/^graph_schema/, "CWE-200"],
  [/^prompt_injection/, "CWE-1427"],
  [/^own_role/, "CWE-269"],
  [/^foreseen_number/, "CWE-340"],
  [/^granted_on_create|^mass_assignment|^privileged_create/, "CWE-915"],
  [/^negative_amount|^zero_amount/, "CWE-839"],
  [/^(login|code)_limit/, "CWE-307"],
  [/^slow_pattern/, "CWE-1333"],
  [/^call_back/, "CWE-918"],
  [/^page_as_picture/, "CWE-434"],
  [/^unknown_recipient/, "CWE-20"],
  [/^user_enumeration/, "CWE-204"],
  [/^double_|^spend_race|^same_key_at_once|^lost_update/, "CWE-362"],
  [/^stale_token/, "CWE-613"],
  [/_traversal$/, "CWE-22"],
  [/_crlf$/, "CWE-113"],
  [/_markup$/, "CWE-79"],
  [/_template$/, "CWE-1336"],
  [/_command$/, "CWE-78"],
  [/^body_deep/, "CWE-674"],
];

/** A crash that only requests at the same moment cause, unless the request always crashes. */
const RACED = /race made the server fail/;
/** A crash, with the status that shows it. */
const CRASH = /\b(?:Answered|fail with|was answered) (5\d\d)\b/;
const LEAK = /(?:shows|is) a (stack trace|database error|debug page)/;

/**
 * Folds failures by their cause and ranks them: a crash by its operation and status, anything else
 * by its family and operation. What merely repeats a failing good case is the same finding.
 */
export function findingsOf(
  { scenarios, executions }: { scenarios: readonly Scenario[]; executions: readonly Execution[] },
  { target, ...logins }: Logins & { target: string | null },
): Finding[] {
  const byId = new Map(scenarios.map((one) => [one.scenario_id, one]));
  const open = new Set(
    executions.filter(({ status }) => status === "failed")
      .map(({ scenario_id }) => byId.get(scenario_id)!)
      .filter(({ family }) => family === "auth_missing").map(({ operation }) => operation),
  );
  const isPublic = asksNobody(executions.map((one) => [byId.get(one.scenario_id)!, one]));
  const down = new Set(
    executions.filter(({ status }) => status === "failed").flatMap((one) => {
      const scenario = byId.get(one.scenario_id)!;
      return scenario.family === "good_case" ? [causeOf(scenario, one)] : [];
    }),
  );
  const groups = new Map<string, { scenario: Scenario; execution: Execution }[]>();
  for (const execution of executions) {
    if (execution.status !== "failed" || execution.evidence.accepted !== undefined) continue;
    const scenario = byId.get(execution.scenario_id)!;
    const add = (cause: string, one: Execution) =>
      groups.set(cause, [...(groups.get(cause) ?? []), { scenario, execution: one }]);
    // Where nobody asks for a login, a wrong one is the same finding.
    const isOpen = /^auth_/.test(String(scenario.family)) && open.has(scenario.operation);
    const cause = causeOf(scenario, execution);
    const raced = RACED.test(execution.reason) && !down.has(cause) ? `raced ${cause}` : cause;
    const isAboutLogin = isPublic && ABOUT_LOGIN.test(String(scenario.family));
    const missing = isAboutLogin ? NO_LOGIN : isOpen ? `auth_missing ${scenario.operation}` : null;
    const isAnswered = !CRASH.test(execution.reason) && !UNANSWERED.test(execution.reason);
    add(missing !== null && isAnswered ? missing : raced, execution);
    const leaking = leakIn(scenario, execution);
    // One handler writes the answers to every crash.
    if (leaking !== null) add("leaks in crashes", leaking);
  }
  return [...groups].map(([cause, group]) => {
    // The request that broke the target, else the good case, then the most serious scenario.
    const sorted = [...group].sort((a, b) =>
      Number(cause === damageOf(b)) - Number(cause === damageOf(a)) ||
      Number(a.scenario.is_edge_case) - Number(b.scenario.is_edge_case) ||
      Number(isMissing(b.scenario)) - Number(isMissing(a.scenario)) ||
      byPriority(a.scenario, b.scenario)
    );
    const [worst] = [...group].map(({ scenario }) => scenario).sort(byPriority);
    // A crash shows nothing of what a critical scenario looks for.
    const isGenerated = typeof worst!.family === "string";
    const isLeak = isGenerated && LEAK.test(sorted[0]!.execution.reason);
    const severity = isLeak
      ? "medium"
      : isGenerated && isCrash(sorted[0]!) && worst!.priority === "critical"
      ? "high"
      : worst!.priority;
    const finding = findingOf(sorted, severity, { target, ...logins });
    return cause === NO_LOGIN ? { ...finding, ...NOBODY_ASKED } : finding;
  }).sort((a, b) => byPriority({ priority: a.severity }, { priority: b.severity }));
}

/** The cause of every finding about logins in a service that asks nobody for one. */
const NO_LOGIN = "no login anywhere";
const ABOUT_LOGIN = /^(auth_|forged_token|foreign_|admin_only|uneven_rights)/;
const NOBODY_ASKED = {
  title: "No operation asks for a login",
  operation: null,
  happened: "Every operation that documents a login was answered without one",
};

/** True where several operations document a login, and each was answered without one. */
function asksNobody(ran: [Scenario, Execution][]): boolean {
  const asked = ran.filter(([{ family }, { status }]) =>
    family === "auth_missing" && (status === "passed" || status === "failed")
  );
  return asked.length > 1 &&
    asked.every(([, { status, reason }]) =>
      status === "failed" && !CRASH.test(reason) && !UNANSWERED.test(reason)
    );
}

/** The cause of everything that fails after this scenario has broken the target. */
function damageOf({ scenario }: { scenario: Scenario }): string {
  return `damage by ${scenario.scenario_id}`;
}

function isMissing({ family }: Scenario): boolean {
  return family === "auth_missing";
}

function causeOf(scenario: Scenario, { evidence, reason, scenario_id }: Execution): string {
  const { family, operation } = scenario;
  const culprit = evidence.after_damage_by;
  if (typeof culprit === "string") return `damage by ${culprit}`;
  if (/left the target broken/.test(reason)) return damageOf({ scenario });
  if (typeof operation !== "string") return scenario_id;
  const leak = LEAK.exec(reason)?.[1];
  // One setting shows every trace; a message of the database belongs to its query.
  if (leak !== undefined) return leak === "database error" ? `${leak} ${operation}` : leak;
  const crash = ORACLE.test(String(family)) ? undefined : CRASH.exec(reason)?.[1];
  if (STOPPED.test(reason)) return `stopped ${operation}`;
  if (isSilent(scenario, reason)) return `unanswered ${operation}`;
  // The clock shows the same hole as the answers.
  const same = String(family).replace(/_by_time$/, "");
  return crash === undefined ? `${same} ${operation}` : `${crash} ${operation}`;
}

/** The same execution as a leak, where a crash shows the inside of the service; else null. */
function leakIn(scenario: Scenario, execution: Execution): Execution | null {
  const { status, body = "" } = (execution.evidence.response ?? {}) as {
    status?: number;
    body?: string;
  };
  if (typeof scenario.operation !== "string" || LEAK.test(execution.reason)) return null;
  const inside = insideOf(body);
  return inside === null
    ? null
    : { ...execution, reason: `Answered ${status}, and the body shows ${inside}` };
}

/** The connection ended without an answer, or the whole target did. */
const STOPPED = /stopped the target|the connection was reset|the answer was cut off/;

/** The target took the request and gave no answer, or none that is HTTP. */
const UNANSWERED = /\bno good answer: /i;
/** Families that look for a slow answer. */
const SLOW = /^slow_|_by_time$/;

function isSilent({ family }: Scenario, reason: string): boolean {
  return UNANSWERED.test(reason) && !SLOW.test(String(family)) && !ORACLE.test(String(family));
}

/** Families whose failures are more than a crash. */
const ORACLE = /^(sql_injection|forged_token|foreign_|granted_|own_role)/;

function isCrash({ scenario, execution }: { scenario: Scenario; execution: Execution }): boolean {
  const { reason } = execution;
  return isSilent(scenario, reason) ||
    CRASH.test(reason) && !ORACLE.test(String(scenario.family ?? ""));
}

function findingOf(
  [first, ...others]: { scenario: Scenario; execution: Execution }[],
  severity: Priority,
  { target, ...logins }: Logins & { target: string | null },
): Finding {
  const { scenario, execution } = first!;
  const family = String(scenario.family ?? "");
  const crashed = isCrash(first!) && !LEAK.test(execution.reason);
  const leaks = family !== "" && LEAK.test(execution.reason);
  const known = CWE.find(([pattern]) => pattern.test(family))?.[1] ?? null;
  const answer = (execution.evidence.response as { body?: string } | undefined)?.body;
  return {
    title: titleOf(scenario, execution.reason, crashed),
    severity,
    cwe: leaks ? "CWE-209" : crashed || STOPPED.test(execution.reason) ? "CWE-755" : known,
    operation: typeof scenario.operation === "string" ? scenario.operation : null,
    family: family === "" ? "scenario" : leaks ? "leaking_message" : family,
    expected: leaks
      ? "An error says what was wrong, and nothing of the code."
      : scenario.expected_behavior,
    scenario_id: scenario.scenario_id,
    also: others.map(({ execution }) => execution.scenario_id),
    happened: execution.reason,
    answer: answer === undefined || answer === "" ? null : answer.slice(0, ANSWER),
    repeat: target === null ? null : repeatOf(scenario, target, logins),
  };
}

/** A leak, and a scenario of several requests that met a crash, are named by that. */
function titleOf({ title, operation, playbook }: Scenario, reason: string, crashed: boolean) {
  if (typeof operation !== "string") return title;
  const leak = LEAK.exec(reason)?.[1];
  if (leak !== undefined) return `${operation} shows a ${leak}`;
  if (/stopped the target/.test(reason)) return `${operation} stops the server`;
  if (STOPPED.test(reason)) return `${operation} ends the connection without an answer`;
  const status = crashed && playbook !== undefined ? CRASH.exec(reason)?.[1] : undefined;
  return status === undefined ? title : `${operation} fails with ${status}`;
}

/** The command line of one request or playbook, with a shell variable for each credential. */
function repeatOf(
  scenario: Scenario,
  target: string,
  { login = [], identities = new Map() }: Logins,
): string | null {
  if (!scenario.exec) return runOf(scenario, target, identities);
  const { exec, scenario_id } = scenario;
  const isLong = (exec.body ?? "").length > SHORT_BODY;
  const short = isLong ? { ...exec, body: BODY_HERE } : exec;
  const command = curlOf({ ...scenario, exec: short }, target)
    ?.replace(BODY_HERE, `"@$PACK/${scenario_id}/body"`) ?? null;
  if (command === null || exec.mode !== "http" || exec.anonymous) return command;
  const own = new Set(Object.keys(exec.headers ?? {}).map((name) => name.toLowerCase()));
  const added = login.filter((name) => !own.has(name.toLowerCase())).map((name) =>
    `-H "${name}: $${variableOf(name)}" `
  );
  return command.replace("--path-as-is ", () => `--path-as-is ${added.join("")}`);
}

const BODY_HERE = "BODY_IN_THE_PACK";

/** The command line of this tool that runs one playbook again; null where no document is known. */
function runOf(
  { source, title, playbook }: Scenario,
  target: string,
  identities: ReadonlyMap<string, readonly string[]>,
): string | null {
  if (playbook === undefined || typeof source !== "string") return null;
  const logins = [...identities].flatMap(([name, headers]) =>
    headers.map((header) => `--as "${name}=${header}: $${variableOf(`${name}_${header}`)}"`)
  );
  const words = ["scenario-tool run --target", quote(target), "--spec", quote(source), ...logins];
  return [...words, "--driver playbook", "--filter", quote(title)].join(" ");
}

function variableOf(name: string): string {
  return name.replaceAll(/\W/g, "_").toUpperCase();
}
