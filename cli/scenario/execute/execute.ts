import type { Execution, Scenario, SetupRequest } from "../schema.ts";
import { type CommandOptions, judgeCommand, runCommand } from "./command.ts";
import { type HttpRequest, isSuccess, sendRequest } from "./http.ts";
import { raceRequests } from "./race/race.ts";
import type { Strategy } from "./race/strategy.ts";
import { createReader, type ReadBack, readBack, withReadBack } from "./read_back.ts";
import {
  isUniq,
  prepareRequest,
  type RequestDraft,
  requestOf,
  type RequestOptions,
} from "./request.ts";
import { type Ran, sumUpRounds, winnersOf } from "./rounds.ts";
import type { Target } from "./target.ts";
import {
  crashOf,
  failed,
  inconclusive,
  judgeExchange,
  judgeOneMore,
  judgeRace,
} from "./verdict.ts";
import { semanticsWarnings } from "./warnings.ts";

/** The options of an execution. */
export interface ExecuteOptions extends RequestOptions {
  target: Target;
  timeout_ms: number;
  insecure: boolean;
  race_strategy: Strategy;
  /** Volleys of a race with `{{uniq}}`; null leaves the number to the scenario. */
  race_rounds: number | null;
  cli: Pick<CommandOptions, "cwd" | "env" | "killGroup">;
  /** Conditions under which a command line is run again. */
  chaos: readonly string[];
}

/** One volley may miss a window; the same generated race should be found in every run. */
const ROUNDS = 3;

/** Runs the `exec` of a scenario once. Never throws. */
export function executeScenario(scenario: Scenario, options: ExecuteOptions): Promise<Execution> {
  return timed(scenario, () => runExec(scenario, options));
}

/** The execution of a scenario, with the time that `run` takes. */
export async function timed(
  { scenario_id }: Scenario,
  run: () => Promise<Ran>,
): Promise<Execution> {
  const started = performance.now();
  const { verdict, evidence } = await run();
  const duration_ms = Math.round(performance.now() - started);
  return { scenario_id, ...verdict, evidence, duration_ms };
}

async function runExec(scenario: Scenario, options: ExecuteOptions): Promise<Ran> {
  const exec = scenario.exec!;
  if (exec.mode === "cli") return await runCli(scenario, options);
  const isRace = (exec.concurrency ?? 0) > 1;
  const own = exec.rounds ?? (scenario.family === undefined ? 1 : ROUNDS);
  const rounds = isRace && isUniq(exec) ? options.race_rounds ?? own : 1;
  const ran: Ran[] = [];
  for (let n = 0; n < rounds; n++) {
    ran.push(await runOnce(scenario, options, isRace ? runRace : runHttp));
  }
  return sumUpRounds(ran);
}

/** Sets up, sends, and reads the effect back, all with the same `{{uniq}}`. */
async function runOnce(
  scenario: Scenario,
  options: ExecuteOptions,
  send: (scenario: Scenario, request: HttpRequest, options: ExecuteOptions) => Promise<Ran>,
): Promise<Ran> {
  const { setup = [], check } = scenario.exec!;
  const uniq = options.uniq();
  const ready = (request: RequestDraft) => prepareRequest(request, options, { uniq });
  const obstacle = await setUp(setup.map(ready), setup, options);
  if (obstacle) return obstacle;
  const read = createReader(options.target, ready, options);
  const before = check?.changes_by === undefined ? null : await read(check);
  const request = requestOf(scenario, options, uniq);
  const { verdict, evidence } = await send(scenario, request, options);
  const seen = isUniq(scenario.exec!) ? { uniq, ...evidence } : evidence;
  if (!check) return { verdict, evidence: seen };
  const found: ReadBack = await readBack(check, before, read);
  return { verdict: withReadBack(verdict, found), evidence: { ...seen, check: found } };
}

/** Sends the requests that prepare. Returns the verdict of the first that fails; null without one. */
async function setUp(
  requests: HttpRequest[],
  setup: SetupRequest[],
  options: ExecuteOptions,
): Promise<Ran | null> {
  for (const [n, request] of requests.entries()) {
    const { sent_path, status, error } = await sendRequest(options.target, request, options);
    const expected = setup[n]!.expected_status || 0;
    const right = expected === 0 ? isSuccess(status) : status === expected;
    if (error === null && right) continue;
    const why = error === null ? ` answered ${status}` : `: ${error}`;
    return {
      verdict: inconclusive(`Could not be set up: ${request.method} ${request.path}${why}`),
      evidence: { setup: { method: request.method, path: sent_path, status, error } },
    };
  }
  return null;
}

async function runHttp(
  { exec }: Scenario,
  request: HttpRequest,
  options: ExecuteOptions,
): Promise<Ran> {
  const exchange = await sendRequest(options.target, request, options);
  const { sent_path, status, headers, body_bytes, error } = exchange;
  const body = exchange.body.slice(0, 2_000);
  return {
    verdict: judgeExchange(exec!, exchange),
    evidence: {
      request: { method: exec!.method, path: sent_path },
      response: { status, headers: Object.fromEntries(headers), body, body_bytes, error },
      warnings: semanticsWarnings(exec!, exchange),
    },
  };
}

async function runRace(
  { exec }: Scenario,
  request: HttpRequest,
  options: ExecuteOptions,
): Promise<Ran> {
  const race = await raceRequests(options.target, request, exec!.concurrency!, options);
  const verdict = judgeRace(exec!, race);
  const evidence = { race };
  if (!exec!.sequence || verdict.status !== "failed" || winnersOf(race) < 2) {
    return { verdict, evidence };
  }
  // After a race the state is used up, so one request more must be refused.
  const { status } = await sendRequest(options.target, request, options);
  const after = { ...evidence, one_more: status };
  const unproven = judgeOneMore(status, winnersOf(race), exec!.concurrency!);
  const proven = failed(`${verdict.reason}; one more afterwards was answered ${status}`);
  if (unproven === null) return { verdict: proven, evidence: after };
  // A request that may be repeated may not crash either.
  return { verdict: crashOf(race) ?? unproven, evidence: after };
}

async function runCli({ exec }: Scenario, options: ExecuteOptions): Promise<Ran> {
  const { timeout_ms, cli, chaos } = options;
  const run = await runCommand(exec!.command!, { ...cli, timeout_ms });
  const verdict = judgeCommand(exec!, run, timeout_ms);
  const evidence = { command: run };
  if (verdict.status === "failed" || chaos.length === 0) return { verdict, evidence };
  const { runChaos } = await import("./chaos.ts");
  const under = await runChaos(exec!, chaos, { ...cli, timeout_ms });
  const reason = under.verdict.status === "failed"
    ? under.verdict.reason
    : `${verdict.reason}, ${under.verdict.reason}`;
  return { verdict: { ...under.verdict, reason }, evidence: { ...evidence, chaos: under.runs } };
}
