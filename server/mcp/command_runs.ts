import type { Claim } from "../actions/schema.ts";
import { ProblemError } from "../client.ts";
import { identify, OWN_PID, type ProcessIdentity } from "../runtime/processes.ts";
import type { ProvedRun } from "../runtime/run_proved.ts";
import { ownEnvironment } from "../runtime/self.ts";
import type { SandboxStart } from "../runtime/sandboxed_process.ts";
import { startSandbox } from "../sandbox/start.ts";
import { openReach } from "../sandbox/reach.ts";
import type { AskedHost } from "../sandbox/schema.ts";
import type { DaemonLink } from "./daemon_link.ts";
import { namedSecrets } from "./scenario_run.ts";

/** Runs one command line in its own process group, as `server/runtime/spawn.ts` does. */
export type RunCommand = (command: string, order: {
  cwd: string;
  env?: Record<string, string | undefined>;
  named_variables?: readonly string[];
  timeout_ms: number;
  max_output_bytes: number;
  signal: AbortSignal;
  proved?: ProvedRun;
  sandbox?: SandboxStart;
}) => Promise<RunOutcome>;

/** The outcome of a command; `exit_code` is null when it was killed or could not start. */
export interface RunOutcome {
  exit_code: number | null;
  output: string;
  truncated: boolean;
  duration_ms: number;
  error?: string;
  left?: ProcessIdentity;
}

export interface RunsOptions {
  link: DaemonLink;
  run: RunCommand;
  /** The agent's environment; the default is that of this process. */
  env?: Record<string, string | undefined>;
  /** The words that start this program. */
  program: () => readonly string[];
  now: () => number;
  id: () => string;
  log: (message: string) => void;
}

const CLAIM_MS = 10_000;
const REPORT_MS = 60_000;
const MAX_RUNS = 32;

/** Claims approved commands, runs them in this process and reports their outcome. */
export class CommandRuns {
  readonly #options: RunsOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #unbuildable = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #holder: string;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#holder = options.id();
  }

  /**
   * Resolves when the command has run and its outcome is reported. Resolves at once when another
   * process has claimed it, or when too many commands run here. `session` is the secret of the
   * action's session.
   */
  async run(action_id: string, session?: string): Promise<void> {
    const known = this.#running.get(action_id);
    if (known) return await known;
    if (this.#running.size >= MAX_RUNS || this.#stopping.signal.aborted) return;
    const run = this.#claimAndRun(action_id, session).finally(() =>
      this.#running.delete(action_id)
    );
    this.#running.set(action_id, run);
    await run;
  }

  /** Whether the command is running here. */
  holds(action_id: string): boolean {
    return this.#running.has(action_id);
  }

  /**
   * Whether the command did not start because its sandbox cannot be built any more, once for each
   * action. Submitted again, it is judged as on a machine without one.
   */
  takeUnbuildable(action_id: string): boolean {
    return this.#unbuildable.delete(action_id);
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Kills the running commands; resolves when all of them are reported. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#running.values());
  }

  async #claimAndRun(action_id: string, session: string | undefined): Promise<void> {
    const claim = await this.#claim(action_id, session);
    if (!claim) return;
    const { run, env } = this.#options;
    const { cwd, timeout_ms, max_output_bytes } = claim;
    const { signal } = this.#stopping;
    const reach = claim.walls && await openReach(claim.walls);
    const sandbox = claim.walls && startOf(claim.walls, env ?? ownEnvironment(), reach);
    const outcome = typeof sandbox === "string" ? unstarted(sandbox) : await run(claim.command, {
      cwd,
      env,
      named_variables: namedSecrets(this.#options.program(), claim.command),
      timeout_ms,
      max_output_bytes,
      signal,
      ...claim.run && { proved: claim.run },
      ...sandbox && { sandbox },
    });
    const asked_hosts = await reach?.close() ?? [];
    await this.#report(action_id, claim, { outcome, asked_hosts, session });
  }

  async #claim(id: string, session: string | undefined): Promise<Claim | null> {
    const { link, now } = this.#options;
    const init = { headers: { "Idempotency-Key": this.#options.id() } };
    const process = identify(OWN_PID);
    const json = { holder: this.#holder, sandbox: true as const, ...process && { process } };
    try {
      return await link.call(
        (client) =>
          client.api.actions[":id"].claim.$post(
            { param: { id }, json },
            init,
          ),
        { until: now() + CLAIM_MS, session },
      );
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.status !== 409) throw error;
      if (error.problem["is_unbuildable"] === true) this.#unbuildable.add(id);
      return null;
    }
  }

  async #report(
    id: string,
    { claim_id }: Claim,
    { outcome, asked_hosts, session }: {
      outcome: RunOutcome;
      asked_hosts: AskedHost[];
      session: string | undefined;
    },
  ): Promise<void> {
    const { link, now, log } = this.#options;
    const stopped = this.#stopping.signal.aborted;
    const asked = asked_hosts.length > 0 ? { asked_hosts } : {};
    const json = { claim_id, ...fit(outcome), ...asked };
    await link.call(
      (client) => client.api.actions[":id"].result.$post({ param: { id }, json }),
      { until: now() + (stopped ? 0 : REPORT_MS), session },
    ).catch((cause) => log(`Cannot report the result of ${id}: ${cause.message}`));
  }
}

/** The start of the sandbox; the reason if this process cannot start it. */
function startOf(...given: Parameters<typeof startSandbox>): SandboxStart | string {
  try {
    return startSandbox(...given);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function unstarted(error: string): RunOutcome {
  return { exit_code: null, output: "", truncated: false, duration_ms: 0, error };
}

const MAX_REPORT_BYTES = 12 * 1024 * 1024;
const EDGE_CHARS = 1024 * 1024;

/** Cuts an output that does not fit into one request; one byte may need six in JSON. */
export function fit(outcome: RunOutcome): RunOutcome {
  const { output } = outcome;
  if (output.length * 6 <= MAX_REPORT_BYTES) return outcome;
  if (Buffer.byteLength(JSON.stringify(output)) <= MAX_REPORT_BYTES) return outcome;
  const left_out = output.length - 2 * EDGE_CHARS;
  const cut = `\n[… ${left_out} characters left out …]\n`;
  const kept = output.slice(0, EDGE_CHARS) + cut + output.slice(-EDGE_CHARS);
  return { ...outcome, output: kept, truncated: true };
}
