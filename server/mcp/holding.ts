import type { SubmitInput } from "../actions/schema.ts";
import { DEFAULT_WAIT_MS, REQUEST_LIMITS } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { CommandRuns } from "./command_runs.ts";
import { type DaemonLink, isAway, rest } from "./daemon_link.ts";
import { type ProgressTiming, type SendProgress, startProgress } from "./progress.ts";
import { isSettled, type Submitted } from "./results.ts";
import { Submissions } from "./submissions.ts";
import { toolOf } from "../actions/tools.ts";

/** One call of a tool, as far as waiting is concerned. */
export interface Call {
  /** Aborted when the host no longer listens, which decides nothing. */
  signal: AbortSignal;
  /** How long the call may last; the default is below every host's limit. */
  wait_ms?: number;
  send_progress?: SendProgress;
}

export interface HoldingOptions {
  link: DaemonLink;
  runs: CommandRuns;
  now: () => number;
  timing?: ProgressTiming;
}

const SUBMIT_MS = 10_000;
const SLICE_MS = 20_000;
const BREATH_MS = 100;

/** Submits actions and waits for what comes of them, across restarts of the daemon. */
export class Holding {
  readonly #options: HoldingOptions;
  readonly #submissions = new Submissions();

  constructor(options: HoldingOptions) {
    this.#options = options;
  }

  /** What the action came to within the call's time; a command that may run is run here. */
  async submit(input: SubmitInput, project: string, call: Call): Promise<Submitted> {
    const { link, now } = this.#options;
    const until = untilOf(call, now);
    const json = { ...input, wait_ms: 0 };
    refuseTooLarge(json);
    const first = await link.call(
      (client) => client.api.actions.$post({ json }),
      {
        project,
        until: now() + SUBMIT_MS,
        signal: call.signal,
        recover: this.#submissions.finder(input, now()),
      },
    );
    this.#submissions.note(first.id);
    return await this.#settle(first, until, call);
  }

  /** Goes on waiting for an action, whoever submitted it. */
  async resume(action_id: string, call: Call): Promise<Submitted> {
    const until = untilOf(call, this.#options.now);
    const known = await this.#wait(action_id, 0, this.#options.now() + SUBMIT_MS, call);
    return await this.#settle(known, until, call);
  }

  /** The action as it stands now. */
  look(action_id: string, call: Call): Promise<Submitted> {
    return this.#wait(action_id, 0, this.#options.now() + SUBMIT_MS, call);
  }

  async #settle(first: Submitted, until: number, call: Call): Promise<Submitted> {
    const { now, timing } = this.#options;
    let current = first;
    const stop = startProgress({
      send: call.send_progress,
      total_ms: until - now(),
      message: () => progressMessage(current),
      timing,
      now,
    });
    try {
      while (!this.#isOver(current) && now() < until && !call.signal.aborted) {
        current = await this.#step(current, until, call);
      }
      return current;
    } catch (error) {
      // The action is recorded and goes on without us: say so instead of losing its id.
      if (isAway(error)) return current;
      throw error;
    } finally {
      stop();
    }
  }

  async #step(current: Submitted, until: number, call: Call): Promise<Submitted> {
    const { now } = this.#options;
    const asked = now();
    if (this.#isOurs(current)) return await this.#run(current, until, call);
    const slice = Math.max(0, Math.min(SLICE_MS, until - asked));
    return await this.#wait(current.id, slice, until, call);
  }

  /** Runs a command here, or finds that somebody else does. */
  async #run(current: Submitted, until: number, call: Call): Promise<Submitted> {
    const { now, runs } = this.#options;
    const asked = now();
    const refused = await Promise.race([
      runs.run(current.id).then(() => null, (error: unknown) => ({ error })),
      rest(until - asked, call.signal).then(() => null),
    ]);
    const next = await this.#wait(current.id, 0, until + SUBMIT_MS, call);
    if (refused && !isSettled(next)) throw refused.error;
    // Every place may be taken: never ask in a tight circle.
    const breath = Math.min(asked + BREATH_MS, until) - now();
    if (!this.#isOver(next) && breath > 0) await rest(breath, call.signal);
    return next;
  }

  #isOver(action: Submitted): boolean {
    return isSettled(action) && !this.#options.runs.holds(action.id);
  }

  /** Approved and nobody's yet, or running here, whatever a daemon that was restarted knows of it. */
  #isOurs(action: Submitted): boolean {
    return mayRun(action) || this.#options.runs.holds(action.id);
  }

  #wait(id: string, timeout_ms: number, until: number, call: Call): Promise<Submitted> {
    return this.#options.link.call(
      (client) =>
        client.api.actions[":id"].wait.$post(
          { param: { id }, json: { timeout_ms } },
          { init: { signal: call.signal } },
        ),
      { until, signal: call.signal },
    );
  }
}

/** The daemon would cut the line in the middle of it, and nobody could tell that from a crash. */
function refuseTooLarge(json: SubmitInput): void {
  const limit = REQUEST_LIMITS.content_body_bytes;
  if (Buffer.byteLength(JSON.stringify(json)) <= limit) return;
  const detail = `Cannot take this call: it is over ${limit} bytes`;
  throw new GateError("too_large", detail);
}

function untilOf(call: Call, now: () => number): number {
  return now() + (call.wait_ms ?? DEFAULT_WAIT_MS);
}

function mayRun(action: Submitted): boolean {
  return toolOf(action.tool).executor === "claimer" && action.status === "approved" &&
    action.execution === "none";
}

function progressMessage(action: Submitted): string {
  if (action.status !== "pending") return `Approved, ${action.tool} is running`;
  return `Held for a person's decision: ${action.tool} ${action.path ?? action.command ?? ""}`
    .trimEnd().slice(0, 200);
}
