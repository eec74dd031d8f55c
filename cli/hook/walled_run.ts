import { fstatSync } from "node:fs";
import { fit } from "../../server/mcp/command_runs.ts";
import { runCommand } from "../../server/runtime/spawn.ts";
import { ask } from "../../server/runtime/wire.ts";
import type { HookRun, HookRunResult } from "../../server/hooks/schema.ts";
import { startSandbox } from "../../server/sandbox/start.ts";
import { findEngine } from "../../server/sandbox/engine.ts";
import { visibleLine } from "../terminal/visible.ts";
import { openReach } from "../../server/sandbox/reach.ts";
import { findSocketAndToken } from "../daemon/socket_and_token.ts";
import type { Io } from "../io.ts";

/** As a shell answers for a command that it cannot start. */
const CANNOT_RUN = 126;
const ANSWER_MS = 30_000;
/** As long as a host may let a server run. */
const RUN_MS = 24 * 60 * 60 * 1000;

/**
 * `gate hook run <ticket>`, which gate puts in the place of a host's command: runs that command in
 * the sandbox with the host's streams. Returns its exit code. Nothing runs if the daemon does not
 * know the ticket.
 */
export async function runWalled(ticket: string, io: Io): Promise<number> {
  try {
    const { run } = await post<HookRun>(`/api/hooks/runs/${ticket}`, { pid: io.pid }, io);
    return run === null ? await tryOut(ticket, io) : await runInside(ticket, run, io);
  } catch (error) {
    tell(io, error instanceof Error ? error.message : String(error));
    return CANNOT_RUN;
  }
}

/** Tells the daemon whether a sandbox can start here. The host's command follows in any case. */
async function tryOut(ticket: string, io: Io): Promise<number> {
  const engine = await findEngine();
  const result = { exit_code: engine ? 0 : 1, output: "", truncated: false, duration_ms: 0 };
  await end(ticket, result, io);
  return 0;
}

async function runInside(
  ticket: string,
  { command, cwd, max_output_bytes, walls }: NonNullable<HookRun["run"]>,
  io: Io,
): Promise<number> {
  const stop = new AbortController();
  const forget = io.onSignal(() => stop.abort());
  io.stdout.on("error", () => stop.abort());
  const reach = await openReach(walls);
  const outcome = await runCommand(command, {
    ...{ cwd, max_output_bytes, env: io.env, timeout_ms: RUN_MS, signal: stop.signal },
    sandbox: startSandbox(walls, io.env, reach),
    streams: { input: io.stdin, output: io.stdout, errors: isOneOutput() ? null : io.stderr },
  });
  forget();
  const asked_hosts = await reach?.close() ?? [];
  const met = await end(ticket, { ...outcome, asked_hosts }, io);
  for (const wall of met) tell(io, wall);
  if (met.length > 0) tell(io, MORE);
  if (outcome.error !== undefined && outcome.exit_code === null) {
    tell(io, outcome.error);
  }
  return outcome.exit_code ?? CANNOT_RUN;
}

/** A line of gate between those of the command; it may name a file of the agent. */
function tell(io: Io, text: string): void {
  io.stderr.write(`gate: ${visibleLine(text)}\n`);
}

const MORE = "It ran in gate's sandbox. If it needs more, send it with gate's tool run_command, " +
  "outside_sandbox: true and a reason";

/** Whether the host reads both outputs from one place, so that their lines must keep their order. */
function isOneOutput(): boolean {
  try {
    const [one, other] = [fstatSync(1), fstatSync(2)];
    return one.dev === other.dev && one.ino === other.ino && one.rdev === other.rdev;
  } catch {
    return false;
  }
}

async function end(ticket: string, result: HookRunResult, io: Io): Promise<string[]> {
  const { exit_code, output, truncated, duration_ms, error } = fit(result);
  const { asked_hosts = [], left } = result;
  const body = {
    ...{ exit_code, output, truncated, duration_ms },
    ...error !== undefined && { error },
    ...asked_hosts.length > 0 && { asked_hosts },
    ...left && { left },
  };
  try {
    const target = `/api/hooks/runs/${ticket}/result`;
    return (await post<{ walls: string[] }>(target, body, io)).walls;
  } catch (error) {
    tell(io, `Cannot report the result: ${(error as Error).message}`);
    return [];
  }
}

async function post<T>(target: string, body: unknown, io: Io): Promise<T> {
  const { socket, found } = findSocketAndToken(io, "agent");
  if (socket === null || !("token" in found)) throw new Error("Cannot reach the daemon");
  const { status, body: text } = await ask({
    ...{ socket, method: "POST", target, token: found.token, timeout_ms: ANSWER_MS },
    body: JSON.stringify(body),
  });
  const said = JSON.parse(text) as T & { detail?: string };
  if (status === 200) return said;
  throw new Error(said.detail ?? `the daemon answered ${status}`);
}
