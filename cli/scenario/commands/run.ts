import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { ToolError } from "../errors.ts";
import { executeAll } from "../execute/schedule.ts";
import { isLoopback, parseTarget, type Target } from "../execute/target.ts";
import { reachTarget } from "../execute/reach.ts";
import { type Depth, DEPTHS } from "../generate/family.ts";
import type { ScenarioIo } from "../io.ts";
import { duration, header, list, oneOf, priorities, whole } from "../options.ts";
import { createRenderer, type Format, FORMATS } from "../report/render.ts";
import type { Priority, Scenario } from "../schema.ts";
import { loadScenarios } from "../sources.ts";
import { type RunResult, summarize } from "../summary.ts";

interface RunOptions {
  target?: string;
  scenarios: string[];
  spec: string[];
  depth: Depth;
  budget?: number;
  output: Format;
  filter?: string;
  priority: Priority[];
  area: string[];
  bail?: boolean;
  timeout: number;
  workers: number;
  rateLimit?: number;
  header: Record<string, string>;
  insecure?: boolean;
  allowDestructive?: boolean;
  waitForTarget?: number;
}

/** `scenario-tool run`: puts scenarios together and, with `--target`, executes them. */
export function createCommand(io: ScenarioIo, exit: (code: number) => void): CommandUnknownOpts {
  return new Command("run")
    .description("print scenarios; with --target, execute them and judge what comes back")
    .option("--target <url>", "base URL to execute against")
    .option("--scenarios <file>", "scenario file (again for more)", list, [])
    .option("--spec <file>", "OpenAPI 3 document to generate from (again for more)", list, [])
    .option("--depth <depth>", DEPTHS.join(", "), oneOf(DEPTHS), "normal" as const)
    .option("--budget <n>", "at most so many generated scenarios", whole(1, 100_000))
    .option("--output <format>", FORMATS.join(", "), oneOf(FORMATS), "text" as const)
    .option("--filter <regex>", "only scenarios whose id or title matches")
    .option("--priority <list>", "only these priorities", priorities, [])
    .option("--area <list>", "only these confidence areas", list, [])
    .option("--bail", "stop after the first failure")
    .option("--timeout <time>", "for each request or command", duration, 10_000)
    .option("--workers <n>", "reading requests at once", whole(1, 64), 4)
    .option("--rate-limit <n>", "at most so many requests a second", whole(1, 100_000))
    .option("-H, --header <header>", 'add "Name: value" to every request', header, {})
    .option("--insecure", "accept any TLS certificate")
    .option("--allow-destructive", "send changing requests to another machine too")
    .option("--wait-for-target <time>", "wait so long for the target to come up", duration)
    .action(async (options: RunOptions) => {
      const result = await run(options, io);
      exit(result.exit_code);
    });
}

async function run(options: RunOptions, io: ScenarioIo): Promise<RunResult> {
  const started = performance.now();
  const target = options.target === undefined ? null : parseTarget(options.target);
  const scenarios = select(await loadScenarios(options, io.cwd), options);
  const renderer = createRenderer(options.output, io, target?.url ?? null);
  const stop = new AbortController();
  const release = io.onSignal(() => stop.abort());
  try {
    const executions = target && scenarios.length > 0
      ? await execute(scenarios, target, options, io, stop.signal, renderer.onResult)
      : [];
    // Without a target the same input gives the same bytes, so no time may enter them.
    const duration_ms = target ? Math.round(performance.now() - started) : 0;
    const result = summarize(scenarios, executions, { target: target?.url ?? null, duration_ms });
    renderer.end(result);
    return result;
  } finally {
    release();
  }
}

async function execute(
  scenarios: Scenario[],
  target: Target,
  options: RunOptions,
  io: ScenarioIo,
  signal: AbortSignal,
  onResult: ReturnType<typeof createRenderer>["onResult"],
) {
  await reachTarget(target, options.waitForTarget ?? 0);
  return await executeAll(scenarios, {
    target,
    timeout_ms: options.timeout,
    insecure: options.insecure ?? false,
    headers: options.header,
    cli: { cwd: io.cwd, env: io.env, killGroup: io.killGroup },
    workers: options.workers,
    bail: options.bail ?? false,
    may_change: isLoopback(target) || (options.allowDestructive ?? false),
    interval_ms: options.rateLimit ? 1_000 / options.rateLimit : 0,
    onResult,
    signal,
  });
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
