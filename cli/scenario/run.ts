import { acceptFailures, openBaseline } from "./accepted.ts";
import { ToolError } from "./errors.ts";
import type { Strategy } from "./execute/race/race.ts";
import { reachTarget } from "./execute/reach.ts";
import { executeAll, type ProseDriver, type ScheduleOptions } from "./execute/schedule.ts";
import { CLI_TARGET, isLoopback, parseTarget, type Target } from "./execute/target.ts";
import { createUniq } from "./execute/uniq.ts";
import type { ScenarioIo } from "./io.ts";
import type { Identities } from "./options.ts";
import { createRenderer, type Format } from "./report/render.ts";
import { parseReport, writeReports } from "./report/reports.ts";
import type { Execution, Priority, Scenario } from "./schema.ts";
import { Secrets } from "./secrets.ts";
import { loadScenarios, type SourceOptions } from "./sources.ts";
import { type RunResult, summarize } from "./summary.ts";

/** The flags of `run`, read. */
export interface RunOptions extends SourceOptions {
  target?: string;
  output: Format;
  report: string[];
  filter?: string;
  priority: Priority[];
  area: string[];
  bail?: true;
  timeout: number;
  workers: number;
  rateLimit?: number;
  header: Record<string, string>;
  secret: string[];
  insecure?: true;
  raceStrategy: Strategy;
  raceRounds?: number;
  chaos?: string[];
  allowDestructive?: true;
  onlyRequests?: true;
  waitForTarget?: number;
  driver?: string;
  as: Identities;
  record?: string;
  maxTurns: number;
  maxRequests: number;
  maxTokens: number;
  confirm: number;
  baseline?: string;
  baselineUpdate?: true;
  repro?: string;
}

/** One run from sources to reports. @throws ToolError before anything is sent, when it can tell */
export async function runScenarios(options: RunOptions, io: ScenarioIo): Promise<RunResult> {
  const started_at = Date.now();
  if (options.onlyRequests) refuseMoreThanRequests(options);
  const target = options.target === undefined ? null : parseTarget(options.target);
  const reports = options.report.map(parseReport);
  const secrets = Secrets.parse(options.secret, io.env);
  const baseline = openBaseline(options, io);
  const fill = (text: string) => secrets.fill(text);
  const scenarios = select(await loadScenarios({ ...options, fill }, io), options);
  const renderer = createRenderer(options.output, io, target?.url ?? null);
  const { executions, stopped } = target && scenarios.length > 0
    ? await execute(scenarios, target, options, {
      io,
      secrets,
      onResult: (execution, scenario) =>
        renderer.onResult(secrets.redact(execution), secrets.redact(scenario)),
    })
    : { executions: [], stopped: false };
  // Without a target the same input gives the same bytes, so no time may enter them.
  const duration_ms = target ? Date.now() - started_at : 0;
  const summary = { target: target?.url ?? null, duration_ms, stopped };
  const judged = baseline ? acceptFailures(scenarios, executions, baseline) : executions;
  const result = secrets.redact(summarize(scenarios, judged, summary));
  renderer.end(result);
  await writeReports(reports, result, io, { started_at });
  if (options.repro && target) {
    const { packFailures } = await import("./report/repro/pack.ts");
    packFailures(result, target, options, { io, secrets });
  }
  return result;
}

/**
 * Whoever allows requests to the target has not allowed programs, files, or that a model elsewhere
 * is told what the target answers, wherever those are asked for.
 */
function refuseMoreThanRequests(options: RunOptions): void {
  const given: Record<string, boolean> = {
    "from-help": (options.fromHelp ?? []).length > 0,
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
  );
}

interface Around {
  io: ScenarioIo;
  secrets: Secrets;
  onResult: (execution: Execution, scenario: Scenario) => void;
}

async function execute(
  scenarios: Scenario[],
  target: Target,
  options: RunOptions,
  { io, secrets, onResult }: Around,
): Promise<{ executions: Execution[]; stopped: boolean }> {
  const stop = new AbortController();
  const release = io.onSignal(() => {
    stop.abort();
    release(); // asked a second time, the process ends at once
  });
  try {
    const needsService = scenarios.some(({ exec }) => exec?.mode !== "cli");
    if (needsService && target !== CLI_TARGET) {
      const { waitForTarget: wait_ms = 0, insecure = false } = options;
      await reachTarget(target, { wait_ms, insecure });
    }
    const scheduled = scheduleOptions(target, options);
    // Whoever names identities wants them used, and only playbooks need no model for that.
    const driver = options.driver ?? (options.as.size > 0 ? "playbook" : null);
    const executions = await executeAll(scenarios, {
      ...scheduled,
      driver: driver ? await openDriver(driver, scheduled, options, { io, secrets }) : null,
      cli: { cwd: io.cwd, env: io.env, killGroup: io.killGroup },
      fill: (text) => secrets.fill(text),
      onResult,
      signal: stop.signal,
    });
    return { executions, stopped: stop.signal.aborted };
  } finally {
    release();
  }
}

/** Loaded only when a driver is asked for. */
async function openDriver(
  name: string,
  scheduled: Scheduled,
  options: RunOptions,
  { io, secrets }: Pick<Around, "io" | "secrets">,
): Promise<ProseDriver> {
  const { Driver } = await import("./driver/driver.ts");
  const ledger = {
    ...scheduled,
    identities: options.as,
    fill: (text: string) => secrets.fill(text),
    redact: (text: string) => secrets.redact(text),
    max_requests: options.maxRequests,
  };
  return await Driver.open({
    driver: name,
    record: options.record,
    ledger,
    max_turns: options.maxTurns,
    max_tokens: options.maxTokens,
    max_run_tokens: options.maxTokens,
    timeout_ms: DRIVER_MS,
  }, io);
}

type Scheduled = Omit<ScheduleOptions, "cli" | "fill" | "onResult" | "signal" | "driver">;

/** No scenario keeps a model longer than this. */
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
  const pattern = patternOf(options.filter);
  return scenarios.filter((scenario) =>
    (!pattern || pattern.test(`${scenario.scenario_id} ${scenario.title}`)) &&
    (options.priority.length === 0 || options.priority.includes(scenario.priority)) &&
    (options.area.length === 0 || options.area.includes(scenario.confidence_area))
  );
}

function patternOf(filter: string | undefined): RegExp | null {
  if (filter === undefined) return null;
  try {
    return new RegExp(filter, "iu");
  } catch (cause) {
    throw new ToolError(`Cannot read --filter "${filter}": it is no regular expression`, { cause });
  }
}
