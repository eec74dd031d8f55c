import type { Execution, Scenario, SetupRequest } from "../schema.ts";
import { type CommandOptions, judgeCommand, runCommand } from "./command.ts";
import { type HttpExchange, type HttpRequest, sendRequest } from "./http.ts";
import { raceRequests, type Strategy } from "./race/race.ts";
import { createReader, type ReadBack, readBack, withReadBack } from "./read_back.ts";
import { prepareRequest, type RequestDraft, requestOf, type RequestOptions } from "./request.ts";
import { sumUpRounds } from "./rounds.ts";
import type { Target } from "./target.ts";
import { isUniq } from "./uniq.ts";
import { judgeExchange, judgeRace, type Verdict } from "./verdict.ts";
import { semanticsWarnings } from "./warnings.ts";

/** What one execution needs besides its scenario. */
export interface ExecuteOptions extends RequestOptions {
  target: Target;
  timeout_ms: number;
  insecure: boolean;
  race_strategy: Strategy;
  /** Volleys of a race whose request is `{{uniq}}`; null for what the scenario says. */
  race_rounds: number | null;
  cli: Pick<CommandOptions, "cwd" | "env" | "killGroup">;
  /** Conditions under which a command line is run again. */
  chaos: readonly string[];
}

/** Runs the `exec` of a scenario once; never throws. */
export async function executeScenario(
  scenario: Scenario,
  options: ExecuteOptions,
): Promise<Execution> {
  const started = performance.now();
  const { verdict, evidence } = await runExec(scenario, options);
  return {
    scenario_id: scenario.scenario_id,
    ...verdict,
    evidence,
    duration_ms: Math.round(performance.now() - started),
  };
}

/** What a request, and what was seen around it, came to. */
export type Ran = { verdict: Verdict; evidence: Record<string, unknown> };

async function runExec(scenario: Scenario, options: ExecuteOptions): Promise<Ran> {
  const exec = scenario.exec!;
  if (exec.mode === "cli") return await runCli(scenario, options);
  const isRace = (exec.concurrency ?? 0) > 1;
  const rounds = isRace && isUniq(exec) ? options.race_rounds ?? exec.rounds ?? 1 : 1;
  const ran: Ran[] = [];
  for (let n = 0; n < rounds; n++) {
    ran.push(await runOnce(scenario, options, isRace ? runRace : runHttp));
  }
  return sumUpRounds(ran);
}

/** Set up, sent, and its effect read back; with the same `{{uniq}}` in all of them. */
async function runOnce(
  scenario: Scenario,
  options: ExecuteOptions,
  send: (scenario: Scenario, request: HttpRequest, options: ExecuteOptions) => Promise<Ran>,
): Promise<Ran> {
  const { setup = [], check } = scenario.exec!;
  const uniq = options.uniq();
  const ready = (request: RequestDraft) => prepareRequest(request, options, { uniq });
  const obstacle = await setUp(setup.map(ready), setup, options);
  if (obstacle) return { verdict: { status: "inconclusive", reason: obstacle }, evidence: {} };
  const read = createReader(options.target, ready, options);
  const before = check?.changes_by === undefined ? null : await read(check);
  const request = requestOf(scenario, options, uniq);
  const { verdict, evidence } = await send(scenario, request, options);
  const seen = isUniq(scenario.exec!) ? { uniq, ...evidence } : evidence;
  if (!check) return { verdict, evidence: seen };
  const found: ReadBack = await readBack(check, before, read);
  return { verdict: withReadBack(verdict, found), evidence: { ...seen, check: found } };
}

async function setUp(
  requests: HttpRequest[],
  setup: SetupRequest[],
  options: ExecuteOptions,
): Promise<string | null> {
  for (const [n, request] of requests.entries()) {
    const { status, error } = await sendRequest(options.target, request, options);
    const expected = setup[n]!.expected_status || 0;
    const right = expected === 0 ? status! >= 200 && status! < 300 : status === expected;
    if (error === null && right) continue;
    return `Could not be set up: ${request.method} ${request.path} ${
      error ?? `answered ${status}`
    }`;
  }
  return null;
}

async function runHttp(
  { exec }: Scenario,
  request: HttpRequest,
  options: ExecuteOptions,
): Promise<Ran> {
  const exchange = await sendRequest(options.target, request, options);
  return {
    verdict: judgeExchange(exec!, exchange),
    evidence: {
      request: { method: exec!.method, path: exchange.sent_path },
      response: responseOf(exchange),
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
  return { verdict: judgeRace(race), evidence: { race } };
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

function responseOf({ status, headers, body, body_bytes, error }: HttpExchange) {
  return {
    status,
    headers: Object.fromEntries(headers),
    body: body.slice(0, 2_000),
    body_bytes,
    error,
  };
}
