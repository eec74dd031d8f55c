import { resolve } from "node:path";
import { LRUCache } from "lru-cache";
import type { Action, SubmitInput } from "../actions/schema.ts";
import { toolOf } from "../actions/tools.ts";
import { type Client, unwrap } from "../client.ts";
import { DEFAULT_WAIT_MS, REQUEST_LIMITS } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { CommandRuns } from "./command_runs.ts";
import { type DaemonLink, isAway, rest } from "./daemon_link.ts";
import { isSettled, type Submitted } from "./results.ts";

/** The parts of a tool call that a wait needs. */
export interface Call {
  /** Aborted when the host stops listening. The action itself goes on. */
  signal: AbortSignal;
  /** How long the call may last; the default is below every host's limit. */
  wait_ms?: number;
  send_progress?: SendProgress;
}

/** A call about an action, with the secret of the action's session. */
export interface SessionCall extends Call {
  session?: string;
}

/** The project of a submission, and the secret of its session. */
export interface SubmitPlace {
  project: string;
  session: string;
}

/** Sends a progress notification to the client. */
export type SendProgress = (progress: number, total: number, message: string) => void;

export interface ProgressTiming {
  first_ms: number;
  every_ms: number;
}

export interface HoldingOptions {
  link: DaemonLink;
  runs: CommandRuns;
  now: () => number;
  timing?: ProgressTiming;
}

const SUBMIT_MS = 10_000;
const POLL_MS = 20_000;
const PAUSE_MS = 100;
/** The strictest host gives up on a call that is silent for 60 s. */
const PROGRESS_TIMING: ProgressTiming = { first_ms: 3_000, every_ms: 10_000 };

/** Submits actions and waits for their outcome, also while the daemon restarts. */
export class Holding {
  readonly #options: HoldingOptions;
  readonly #own = new OwnActions();

  constructor(options: HoldingOptions) {
    this.#options = options;
  }

  /**
   * The action when it is settled or the call's time is over. An approved command runs here; one whose
   * sandbox cannot be built any more is submitted again, so that a person is asked about it.
   */
  async submit(input: SubmitInput, place: SubmitPlace, call: Call): Promise<Submitted> {
    const until = untilOf(call, this.#options.now);
    return await this.#again(await this.#submitOnce(input, place, { call, until }), call, until);
  }

  /** As `submit` says, for an action of this connection that is over. */
  async #again(done: Submitted, call: Call, until: number): Promise<Submitted> {
    const own = this.#options.runs.takeUnbuildable(done.id) ? this.#own.find(done.id) : null;
    return own ? await this.#submitOnce(own.input, own.place, { call, until }) : done;
  }

  async #submitOnce(
    input: SubmitInput,
    place: SubmitPlace,
    { call, until }: { call: Call; until: number },
  ): Promise<Submitted> {
    const { project, session } = place;
    const { link, now } = this.#options;
    const json = { ...input, wait_ms: 0 };
    refuseTooLarge(json);
    const first = await link.call(
      (client) => client.api.actions.$post({ json }),
      {
        project,
        session,
        until: now() + SUBMIT_MS,
        signal: call.signal,
        recover: this.#own.finder({ input, place }, now()),
      },
    );
    this.#own.note(first.id, { input, place });
    return await this.#untilSettled(first, until, { ...call, session });
  }

  /**
   * Continues to wait for an action of the session with this secret. It may be submitted again, as
   * `submit` says.
   */
  async resume(action_id: string, call: SessionCall): Promise<Submitted> {
    const until = untilOf(call, this.#options.now);
    const done = await this.#untilSettled(await this.look(action_id, call), until, call);
    return await this.#again(done, call, until);
  }

  /** The action in its present state. */
  look(action_id: string, call: SessionCall): Promise<Submitted> {
    return this.#wait(action_id, 0, this.#options.now() + SUBMIT_MS, call);
  }

  async #untilSettled(first: Submitted, until: number, call: SessionCall): Promise<Submitted> {
    const { now } = this.#options;
    let current = first;
    const stop = this.#startProgress(call, until - now(), () => progressMessage(current));
    try {
      while (!this.#isOver(current) && now() < until && !call.signal.aborted) {
        current = await this.#step(current, until, call);
      }
      return current;
    } catch (error) {
      // The action is recorded and goes on: return its id instead of an error.
      if (isAway(error)) return current;
      throw error;
    } finally {
      stop();
    }
  }

  async #step(current: Submitted, until: number, call: SessionCall): Promise<Submitted> {
    const { now } = this.#options;
    const started = now();
    if (this.#isOurs(current)) return await this.#run(current, until, call);
    const timeout_ms = Math.max(0, Math.min(POLL_MS, until - started));
    return await this.#wait(current.id, timeout_ms, until, call);
  }

  /** Runs a command here, unless another process has claimed it. */
  async #run(current: Submitted, until: number, call: SessionCall): Promise<Submitted> {
    const { now, runs } = this.#options;
    const started = now();
    const failure = await Promise.race([
      runs.run(current.id, call.session).then(() => null, (error: unknown) => ({ error })),
      rest(until - started, call.signal).then(() => null),
    ]);
    const next = await this.#wait(current.id, 0, until + SUBMIT_MS, call);
    if (failure && !isSettled(next)) throw failure.error;
    // Too many commands may be running: pause, so that this does not become a busy loop.
    const pause = Math.min(started + PAUSE_MS, until) - now();
    if (!this.#isOver(next) && pause > 0) await rest(pause, call.signal);
    return next;
  }

  #isOver(action: Submitted): boolean {
    return isSettled(action) && !this.#options.runs.holds(action.id);
  }

  /** Approved and unclaimed, or already running in this process. */
  #isOurs(action: Submitted): boolean {
    return mayRun(action) || this.#options.runs.holds(action.id);
  }

  #wait(id: string, timeout_ms: number, until: number, call: SessionCall): Promise<Submitted> {
    return this.#options.link.call(
      (client) =>
        client.api.actions[":id"].wait.$post(
          { param: { id }, json: { timeout_ms } },
          { init: { signal: call.signal } },
        ),
      { until, signal: call.signal, session: call.session },
    );
  }

  /** Sends progress notifications until the returned function is called. */
  #startProgress({ send_progress }: Call, total_ms: number, message: () => string): () => void {
    const { now, timing = PROGRESS_TIMING } = this.#options;
    if (!send_progress) return () => {};
    const started = now();
    let sent = -1;
    const tick = () => {
      // The protocol requires a number that grows each time.
      sent = Math.max(sent + 1, Math.round((now() - started) / 1000));
      send_progress(sent, Math.max(sent, Math.round(total_ms / 1000)), message());
      timer = setTimeout(tick, timing.every_ms);
    };
    let timer = setTimeout(tick, timing.first_ms);
    return () => clearTimeout(timer);
  }
}

const MOST_NOTED = 1_000;
const LOOK_BACK = "100";

/** A submission as it was sent. */
interface OwnAction {
  input: SubmitInput;
  place: SubmitPlace;
}

/**
 * The actions that this connection submitted. When the daemon ends before it answers, the
 * submission is looked up in its session before it is sent again. That costs one query after a crash;
 * an idempotency key would cost two commits for each call.
 */
class OwnActions {
  readonly #noted = new LRUCache<string, OwnAction | true>({ max: MOST_NOTED });

  /** Only a command is ever sent again; the content of a file would fill the memory. */
  note(action_id: string, own: OwnAction): void {
    const isCommand = toolOf(own.input.tool).shows === "command";
    this.#noted.set(action_id, isCommand ? own : true);
  }

  /** The command of this action; null if it is none of this connection. */
  find(action_id: string): OwnAction | null {
    const own = this.#noted.get(action_id) ?? true;
    return own === true ? null : own;
  }

  /** Finds the action of a submission that was sent at `since`. */
  finder(own: OwnAction, since: number): (client: Client) => Promise<Submitted | null> {
    const { input } = own;
    return async (client) => {
      // A read can simply be sent again.
      if (toolOf(input.tool).access === "read" || input.session_id === undefined) return null;
      const { items } = await unwrap(client.api.sessions[":id"].actions.$get({
        param: { id: input.session_id },
        query: { tool: input.tool, limit: LOOK_BACK },
      }));
      const found = items.find((action) =>
        Date.parse(action.created_at) >= since && !this.#noted.has(action.id) &&
        hasInput(action, input.input)
      );
      if (!found) return null;
      this.note(found.id, own);
      return await unwrap(client.api.actions[":id"].wait.$post({
        param: { id: found.id },
        json: { timeout_ms: 0 },
      }));
    };
  }
}

function hasInput(action: Action, input: Record<string, unknown>): boolean {
  if (toolOf(action.tool).shows === "command") return action.command === input.command;
  if (toolOf(action.tool).undoes) return action.rollback_of === input.action_id;
  const path = input.path ?? input.from;
  return typeof path === "string" && action.path !== null &&
    resolve(action.root, action.path) === resolve(action.root, path);
}

/** The daemon closes the connection in the middle of a larger body, which looks like a crash. */
function refuseTooLarge(json: SubmitInput): void {
  const limit = REQUEST_LIMITS.content_body_bytes;
  if (isShort(json)) return;
  if (Buffer.byteLength(JSON.stringify(json)) <= limit) return;
  throw new GateError("too_large", `Cannot submit this call: it is over ${limit} bytes`);
}

/** Whether a call is so short that its JSON need not be measured: most are. */
function isShort({ input }: SubmitInput): boolean {
  let length = 0;
  for (const value of Object.values(input)) {
    if (typeof value === "object" && value !== null) return false;
    length += String(value).length;
  }
  return length <= SHORT;
}

/** JSON takes at most six bytes for a character. */
const SHORT = 1024 * 1024;

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
