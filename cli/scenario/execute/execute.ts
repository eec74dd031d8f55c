import type { Execution, Scenario } from "../schema.ts";
import { type CommandOptions, judgeCommand, runCommand } from "./command.ts";
import { type HttpExchange, type HttpRequest, sendRequest } from "./http.ts";
import { raceRequests, type Strategy } from "./race.ts";
import type { Target } from "./target.ts";
import { judgeExchange, judgeRace, type Verdict } from "./verdict.ts";
import { semanticsWarnings } from "./warnings.ts";

/** What one execution needs besides its scenario. */
export interface ExecuteOptions {
  target: Target;
  timeout_ms: number;
  insecure: boolean;
  race_strategy: Strategy;
  /** Sent with every request; a scenario's own header of the same name wins. */
  headers: Record<string, string>;
  /** Fills in what only the target may see. */
  fill: (text: string) => string;
  cli: Pick<CommandOptions, "cwd" | "env" | "killGroup">;
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

/** The request that a scenario in http mode sends. */
export function requestOf(
  scenario: Scenario,
  { headers: added, fill }: Pick<ExecuteOptions, "headers" | "fill">,
): HttpRequest {
  const { method = "GET", path = "", headers = {}, body, anonymous } = scenario.exec!;
  const base = anonymous ? withoutCredentials(added) : added;
  const filled = Object.entries(mergeHeaders(base, headers)).map((
    [name, value],
  ) => [name, fill(value)]);
  return {
    method,
    path: fill(path),
    headers: Object.fromEntries(filled),
    body: body === undefined ? undefined : fill(body),
  };
}

type Ran = { verdict: Verdict; evidence: Record<string, unknown> };

function runExec(scenario: Scenario, options: ExecuteOptions): Promise<Ran> {
  const exec = scenario.exec!;
  if (exec.mode === "cli") return runCli(scenario, options);
  return (exec.concurrency ?? 0) > 1 ? runRace(scenario, options) : runHttp(scenario, options);
}

async function runHttp(scenario: Scenario, options: ExecuteOptions): Promise<Ran> {
  const exchange = await sendRequest(options.target, requestOf(scenario, options), options);
  return {
    verdict: judgeExchange(scenario.exec!, exchange),
    evidence: {
      request: { method: scenario.exec!.method, path: exchange.sent_path },
      response: responseOf(exchange),
      warnings: semanticsWarnings(scenario.exec!, exchange),
    },
  };
}

async function runRace(scenario: Scenario, options: ExecuteOptions): Promise<Ran> {
  const request = requestOf(scenario, options);
  const race = await raceRequests(options.target, request, scenario.exec!.concurrency!, options);
  return { verdict: judgeRace(race), evidence: { race } };
}

async function runCli(scenario: Scenario, options: ExecuteOptions): Promise<Ran> {
  const { timeout_ms, cli } = options;
  const run = await runCommand(scenario.exec!.command!, { ...cli, timeout_ms });
  return { verdict: judgeCommand(scenario.exec!, run, timeout_ms), evidence: { command: run } };
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

const CREDENTIAL = /^(authorization|proxy-authorization|cookie|x-.*(key|token|auth).*)$/i;

function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIAL.test(name)));
}

function mergeHeaders(base: Record<string, string>, own: Record<string, string>) {
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !taken.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}
