import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { resolve } from "node:path";
import type { Io } from "../../io.ts";
import { acceptFailures, openBaseline } from "../baseline.ts";
import { applyConfig } from "../config.ts";
import { ToolError } from "../errors.ts";
import { type Controls, untestedOf } from "../execute/controls.ts";
import { reachTarget } from "../execute/reach.ts";
import { executeAll, type ProseDriver, type ScheduleOptions } from "../execute/schedule.ts";
import { CLI_TARGET, isLoopback, parseTarget, type Target } from "../execute/target.ts";
import { createUniq, isCredential } from "../execute/request.ts";
import type { Operation } from "../generate/operation.ts";
import { runCommand, type RunOptions } from "../options.ts";
import { findingsOf } from "../report/findings.ts";
import type { Logins } from "../report/repeat.ts";
import { createRenderer } from "../report/render.ts";
import { checkReports, parseReport, writeReports } from "../report/reports.ts";
import type { Execution, Scenario } from "../schema.ts";
import { Secrets } from "../secrets.ts";
import { loadScenarios } from "../sources.ts";
import { type RunResult, summarize } from "../summary.ts";
import { safeLine } from "../../terminal/visible.ts";

/** `scenario-tool run`: collects scenarios and, with `--target`, executes them. */
export function createCommand(io: Io, exit: (code: number) => void): CommandUnknownOpts {
  return runCommand()
    .hook("preAction", (running) => applyConfig(running, io))
    .action(async (options) => exit(await runScenarios(options, io)));
}

/** One run from sources to reports. Returns the exit code. @throws ToolError */
async function runScenarios(options: RunOptions, io: Io): Promise<number> {
  const started_at = Date.now();
  if (options.onlyRequests) refuseMoreThanRequests(options);
  const target = options.target === undefined ? null : parseTarget(options.target);
  const reports = options.report.map(parseReport);
  checkReports(reports, io);
  const secrets = Secrets.parse(options.secret, io.env);
  const baseline = openBaseline(options, io.cwd);
  const fill = (text: string) => secrets.fill(text);
  const rehearsal = rehearsalOf(target, options, { io, secrets });
  const loaded = await loadScenarios({ ...options, fill, learn: rehearsal?.learn }, io);
  const scenarios = select(loaded, options);
  const renderer = createRenderer(options.output, io, {
    target: target?.url ?? null,
    verbose: options.verbose,
  });
  const { executions, stopped } = target && scenarios.length > 0
    ? await execute(scenarios, target, options, {
      io,
      secrets,
      controls: rehearsal?.controls ?? null,
      onResult: (execution, scenario) =>
        renderer.onResult(secrets.redact(execution), secrets.redact(scenario)),
    })
    : { executions: [], stopped: false };
  // Without a target the same input must give the same bytes, so the output holds no time.
  const duration_ms = target ? Date.now() - started_at : 0;
  const untested = untestedOf(scenarios, rehearsal?.controls);
  const summary = { target: target?.url ?? null, duration_ms, stopped, untested };
  const judged = baseline ? acceptFailures(scenarios, executions, baseline) : executions;
  const findings = findingsOf({ scenarios, executions: judged }, {
    target: summary.target,
    ...loginsOf(options),
  });
  const result = secrets.redact({ ...summarize(scenarios, judged, summary), findings });
  renderer.end(result);
  writeReports(reports, result, io, { started_at });
  if (options.repro && target) await packFailures(result, target, options, { io, secrets });
  return result.exit_code;
}

/** The names of the headers that log the run in, without their values. */
function loginsOf({ as: identities, header }: RunOptions): Logins {
  return {
    login: Object.keys({ ...identities.values().next().value, ...header }).filter(isCredential),
    identities: new Map([...identities].map(([name, given]) => [name, Object.keys(given)])),
  };
}

/**
 * `--only-requests` allows requests to the target, and nothing else. Refuses every option that
 * runs a program, writes a file or shows a model the answers of the target.
 */
function refuseMoreThanRequests(options: RunOptions): void {
  const given: Record<string, boolean> = {
    "from-help": options.fromHelp.length > 0,
    driver: !["playbook", undefined].includes(options.driver),
    report: options.report.length > 0,
    record: options.record !== undefined,
    repro: options.repro !== undefined,
    "baseline-update": options.baselineUpdate ?? false,
  };
  const asked = Object.keys(given).find((name) => given[name]);
  if (asked === undefined) return;
  throw new ToolError(
    `Cannot use --${asked} with --only-requests: it runs a program, writes a file or asks a model`,
    { next: `leave out --${asked} or --only-requests` },
  );
}

/** Writes the files that `--repro` asks for and prints where they are. @throws ToolError */
async function packFailures(
  result: RunResult,
  target: Target,
  options: RunOptions,
  { io, secrets }: Pick<Around, "io" | "secrets">,
): Promise<void> {
  const { writeRepros } = await import("../report/repro.ts");
  const folder = options.repro!;
  const count = writeRepros(resolve(io.cwd, folder), result, {
    target,
    headers: secrets.redact(options.header),
    identities: new Map([...options.as].map(([name, given]) => [name, secrets.redact(given)])),
    insecure: options.insecure ?? false,
    flags: reproFlags(options),
  });
  if (count === 0) return;
  const what = count === 1 ? "failure" : `${count} failures`;
  io.stderr.write(`How to repeat the ${what} is in ${safeLine(folder)}\n`);
}

/** The flags that decide how a scenario is executed. None of them holds a secret. */
function reproFlags(options: RunOptions): string[] {
  const flags: [string, string | number | true | undefined][] = [
    ["--timeout", options.timeout],
    ["--race-strategy", options.raceStrategy],
    ["--race-rounds", options.raceRounds],
    ["--chaos", options.chaos?.join(",")],
    ["--insecure", options.insecure],
    ["--allow-destructive", options.allowDestructive],
    ["--driver", options.driver],
  ];
  return flags.flatMap(([name, value]) =>
    value === undefined ? [] : value === true ? [name] : [`${name}=${value}`]
  );
}

/** Sends each operation before the run, and keeps how it was answered; null where that is off. */
function rehearsalOf(
  target: Target | null,
  options: RunOptions,
  { io, secrets }: Pick<Around, "io" | "secrets">,
): { learn: (operations: Operation[]) => Promise<Operation[]>; controls: Controls } | null {
  if (target === null || target === CLI_TARGET || options.asDocumented) return null;
  const controls: Controls = new Map();
  const learn = async (operations: Operation[]) => {
    const { waitForTarget: wait_ms = 0, insecure = false } = options;
    await reachTarget(target, { wait_ms, insecure });
    const { learnOperations } = await import("../learn/learn.ts");
    const stop = new AbortController();
    const release = io.onSignal(() => stop.abort());
    const learned = await learnOperations(operations, {
      ...scheduleOptions(target, options),
      identities: options.as,
      values: options.value,
      own_values: options.asValue,
      fill: (text) => secrets.fill(text),
      signal: stop.signal,
    }).finally(release);
    for (const [name, control] of learned.controls) controls.set(name, control);
    return learned.operations;
  };
  return { learn, controls };
}

interface Around {
  io: Io;
  secrets: Secrets;
  controls: Controls | null;
  onResult: (execution: Execution, scenario: Scenario) => void;
}

async function execute(
  scenarios: Scenario[],
  target: Target,
  options: RunOptions,
  { io, secrets, controls, onResult }: Around,
): Promise<{ executions: Execution[]; stopped: boolean }> {
  const stop = new AbortController();
  const release = io.onSignal(() => {
    stop.abort();
    release(); // A second signal ends the process at once.
  });
  try {
    const needsService = scenarios.some(({ exec }) => exec?.mode !== "cli");
    if (needsService && target !== CLI_TARGET) {
      const { waitForTarget: wait_ms = 0, insecure = false } = options;
      await reachTarget(target, { wait_ms, insecure });
    }
    const scheduled = scheduleOptions(target, options);
    // Identities without a driver mean playbooks, which need no model.
    const driver = options.driver ?? (options.as.size > 0 ? "playbook" : null);
    const executions = await executeAll(scenarios, {
      ...scheduled,
      driver: driver ? await driverOf(driver, scheduled, options, { io, secrets }) : null,
      cli: { cwd: io.cwd, env: io.env, killGroup: io.killGroup },
      fill: (text) => secrets.fill(text),
      controls,
      onResult,
      signal: stop.signal,
    });
    return { executions, stopped: stop.signal.aborted };
  } finally {
    release();
  }
}

/** Loads the driver modules only when a driver is asked for. */
async function driverOf(
  driver: string,
  scheduled: Scheduled,
  { record, as: identities, maxRequests, maxTurns, maxTokens }: RunOptions,
  { io, secrets }: Pick<Around, "io" | "secrets">,
): Promise<ProseDriver> {
  const { openDriver } = await import("../driver/driver.ts");
  const ledger = {
    ...scheduled,
    identities,
    fill: (text: string) => secrets.fill(text),
    redact: (text: string) => secrets.redact(text),
    max_requests: maxRequests,
  };
  const tokens = { max_tokens: maxTokens, max_run_tokens: maxTokens };
  const budget = { max_turns: maxTurns, ...tokens, timeout_ms: DRIVER_MS };
  return await openDriver({ driver, record, ledger, ...budget }, io);
}

type Scheduled = Omit<
  ScheduleOptions,
  "cli" | "controls" | "fill" | "onResult" | "signal" | "driver"
>;

/** A driver spends at most this long on one scenario. */
const DRIVER_MS = 600_000;

function scheduleOptions(
  target: Target,
  options: RunOptions,
): Scheduled {
  return {
    target,
    timeout_ms: options.timeout,
    insecure: options.insecure ?? false,
    race_strategy: options.raceStrategy,
    race_rounds: options.raceRounds ?? null,
    chaos: options.chaos ?? [],
    uniq: createUniq(),
    headers: options.header,
    identity: options.as.values().next().value ?? {},
    workers: options.workers,
    bail: options.bail ?? false,
    confirm: options.confirm,
    only_requests: options.onlyRequests ?? false,
    may_change: isLoopback(target) || (options.allowDestructive ?? false),
    interval_ms: options.rateLimit ? 1_000 / options.rateLimit : 0,
  };
}

function select(scenarios: Scenario[], options: RunOptions): Scenario[] {
  const { filter } = options;
  // A pasted title holds braces and brackets, which are no pattern.
  const pasted = titleIn(filter, scenarios);
  const pattern = pasted === null ? patternOf(filter, scenarios) : null;
  return scenarios.filter((scenario) =>
    (pasted === null || scenario.title === pasted) &&
    (!pattern || pattern.test(`${scenario.scenario_id} ${scenario.title}`)) &&
    (options.priority.length === 0 || options.priority.includes(scenario.priority)) &&
    (options.area.length === 0 || options.area.includes(scenario.confidence_area))
  );
}

/** The whole title that was pasted, perhaps with its id, priority or CWE around it; else null. */
function titleIn(filter: string | undefined, scenarios: Scenario[]): string | null {
  const around =
    /^(?:[✗✓?–]?\s*TS-\d+\s+(?:(?:critical|high|medium|low):\s+)?)?(.*?)(?:\s+\(CWE-\d+\))?$/u;
  const words = around.exec(filter?.trim() ?? "")?.[1];
  const titles = new Set(scenarios.map(({ title }) => title));
  return [filter, words].find((text) => text !== undefined && titles.has(text)) ?? null;
}

function patternOf(filter: string | undefined, scenarios: Scenario[]): RegExp | null {
  if (filter === undefined) return null;
  try {
    return new RegExp(filter, "iu");
  } catch (cause) {
    // A part of a title, such as `GET /orders/{id}`, is no regular expression.
    if (scenarios.some(({ title }) => title.includes(filter))) {
      return new RegExp(filter.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "iu");
    }
    throw new ToolError(`Cannot read --filter "${filter}": it is not a regular expression`, {
      next: "--filter 'orders|refunds', or a part of a title",
      cause,
    });
  }
}
