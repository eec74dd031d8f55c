import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { commandEnvironment } from "./command_environment.ts";
import { OutputBuffer } from "./output_buffer.ts";
import type { ProcessIdentity } from "./processes.ts";
import { UsageWatch } from "./process_limits.ts";
import { CAN_RUN_PROVED, ProvedJob, type ProvedRun } from "./run_proved.ts";
import {
  commandShell,
  endInside,
  killFirst,
  leftOf,
  type SandboxStart,
  spawnSandboxed,
} from "./sandboxed_process.ts";
import type { WaitingSandbox } from "./waiting_sandbox.ts";

/** How a command line is run. */
export interface RunOptions {
  cwd: string;
  timeout_ms: number;
  /** Longer output is cut in the middle, with a line that says so. */
  max_output_bytes: number;
  /** The command gets the known variables of this environment; default: that of this process. */
  env?: Record<string, string | undefined>;
  /** Further variables that the command gets, because its command line names them. */
  named_variables?: readonly string[];
  /** Ends the command and everything it started. */
  signal?: AbortSignal;
  /** The proved steps of the command; gate then starts its programs itself, without a shell. */
  proved?: ProvedRun;
  /** The sandbox in which the command runs. */
  sandbox?: SandboxStart;
  /** A sandbox that waits for a command, used if it is the one in which this command runs. */
  waiting?: WaitingSandbox;
  /** Its input and output, if somebody follows it. */
  streams?: CommandStreams;
}

/** The streams of a command that somebody follows. They stay open after it. */
export interface CommandStreams {
  input: Readable;
  output: Writable;
  /** Null if both of its outputs go into one, in the order of writing. */
  errors: Writable | null;
}

/** The outcome of a command. */
export interface RunResult {
  /** Null when the command did not end by itself; `error` then gives the reason. */
  exit_code: number | null;
  /** Standard output and standard error, in the order of writing. */
  output: string;
  truncated: boolean;
  duration_ms: number;
  error?: string;
  /** A process of its sandbox that did not end, so that it may still change files. */
  left?: ProcessIdentity;
}

/** From SIGTERM to SIGKILL. */
const GRACE_MS = 2_000;
/** For the last output after the command has ended. */
const DRAIN_MS = 250;
/** Between two looks at the processes of a command in a sandbox, and where they are many. */
const WATCH_MS = 100;
const WATCH_CLOSELY_MS = 20;
/** For processes that even SIGKILL does not end at once. */
const GIVE_UP_MS = 5_000;

/**
 * Runs one command line in its own process group, and ends the whole group with it. It has no input,
 * except that of `streams`.
 * Never throws: a command that cannot start returns an `error`.
 */
export async function runCommand(command: string, options: RunOptions): Promise<RunResult> {
  const started = performance.now();
  const buffer = new OutputBuffer(options.max_output_bytes);
  const ended = options.signal?.aborted
    ? { exit_code: null, error: "Stopped before it began" }
    : await new Run(command, options, buffer).ended;
  options.waiting?.prepare();
  const { text: output, truncated } = buffer.finish();
  return { ...ended, output, truncated, duration_ms: Math.round(performance.now() - started) };
}

interface Ended {
  exit_code: number | null;
  error?: string;
  left?: ProcessIdentity;
}

/** A command that runs, in a shell or without one. */
interface Job {
  /** The process above all others of the command, if there is one. */
  pid?: number | undefined;
  output: readonly Promise<Readable | null>[];
  exited: Promise<Ended>;
  /** Resolves when no process can write to its output any more. */
  closed: Promise<void>;
  kill: (signal: "SIGTERM" | "SIGKILL") => void;
  /** A process of its sandbox that has not ended. */
  left: () => ProcessIdentity | null;
}

/** One command from start to end. */
class Run {
  readonly ended: Promise<Ended>;
  readonly #job: Job;
  readonly #signal: AbortSignal | undefined;
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #streams: Readable[] = [];
  #follows = false;
  #resolve!: (ended: Ended) => void;
  #why: string | undefined;
  #watching: ReturnType<typeof setTimeout> | undefined;

  constructor(command: string, options: RunOptions, buffer: OutputBuffer) {
    this.ended = new Promise((resolve) => this.#resolve = resolve);
    const { proved } = options;
    // Only a shell runs in the sandbox.
    const runs = proved && CAN_RUN_PROVED && !options.sandbox;
    this.#job = runs ? provedJob(proved, options) : shellJob(command, options);
    this.#signal = options.signal;
    this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    const seconds = options.timeout_ms / 1000;
    this.#later(
      options.timeout_ms,
      () => this.#stop(`Timed out after ${seconds} s: it was stopped`),
    );
    if (options.sandbox) this.#watch(options.sandbox);
    this.#follows = options.streams !== undefined;
    const targets = [options.streams?.output, options.streams?.errors];
    this.#job.output.forEach((opening, at) => void this.#read(opening, buffer, targets[at]));
    void this.#job.exited.then((ended) => this.#exited(ended));
  }

  readonly #onAbort = () =>
    this.#stop("Stopped: the agent's connection ended or a person stopped it");

  async #read(
    opening: Promise<Readable | null>,
    buffer: OutputBuffer,
    target: Writable | null | undefined,
  ): Promise<void> {
    const stream = await opening.catch(() => null);
    if (!stream) return;
    this.#streams.push(stream);
    stream.on("data", (chunk: Uint8Array) => buffer.add(chunk));
    // The output of a sandbox that waited is paused.
    stream.resume();
    if (target) stream.pipe(target, { end: false });
    stream.on("error", () => {});
  }

  #stop(why: string, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): void {
    this.#why ??= why;
    this.#job.kill(signal);
    this.#later(GRACE_MS, () => this.#job.kill("SIGKILL"));
    this.#later(GIVE_UP_MS, () => this.#settle({ exit_code: null, error: why }));
  }

  /** Stops the command when its processes together use too much. */
  #watch({ limits, tells_first }: SandboxStart): void {
    const { pid } = this.#job;
    if (pid === undefined) return;
    // Elsewhere a look at the group starts `ps`, and the limits know only Linux.
    const has_group = !tells_first && process.platform === "linux";
    const watch = new UsageWatch(pid, limits, { has_group });
    const look = () => {
      const { breach, isNear } = watch.look();
      if (breach !== null) return this.#stop(`${breach}: it was stopped`, "SIGKILL");
      this.#watching = setTimeout(look, isNear ? WATCH_CLOSELY_MS : WATCH_MS);
    };
    this.#watching = setTimeout(look, WATCH_MS);
  }

  #exited(ended: Ended): void {
    clearTimeout(this.#watching);
    const final = this.#why === undefined ? ended : { exit_code: null, error: this.#why };
    if (process.platform !== "win32") this.#job.kill("SIGTERM");
    // A background child may keep the pipe open, but the command's own output is already in it. Who
    // follows the output may read it slowly, and the end of a sandbox ends all of its processes.
    if (!this.#follows) this.#later(DRAIN_MS, () => this.#settle(final));
    void this.#job.closed.then(() => this.#settle(final));
  }

  #settle(ended: Ended): void {
    for (const timer of this.#timers) clearTimeout(timer);
    clearTimeout(this.#watching);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (process.platform !== "win32") this.#job.kill("SIGKILL");
    for (const stream of this.#streams) stream.destroy();
    const left = this.#job.left();
    this.#resolve(left === null ? ended : { exit_code: null, error: notEnded(ended, left), left });
  }

  #later(ms: number, run: () => void): void {
    this.#timers.push(setTimeout(run, ms));
  }
}

function shellJob(command: string, options: RunOptions): Job {
  const child = spawnShell(command, options);
  return {
    pid: child.pid,
    output: [child.stdout, child.stderr].map((stream) => Promise.resolve(stream)),
    exited: new Promise((resolve) => {
      child.on(
        "error",
        (error) => resolve({ exit_code: null, error: `Cannot run the command: ${error.message}` }),
      );
      child.on(
        "exit",
        (code, signal) => void endInside(child).then(() => resolve(endOf(code, signal))),
      );
    }),
    closed: new Promise((resolve) => {
      child.on("error", () => resolve());
      child.on("close", () => resolve());
    }),
    kill: (signal) => endGroup(child, signal),
    left: () => leftOf(child),
  };
}

function notEnded({ error }: Ended, { pid }: ProcessIdentity): string {
  const why = `Its process ${pid} could not be ended, and may still change files`;
  return error === undefined ? why : `${error}. ${why}`;
}

function provedJob(proved: ProvedRun, { cwd, env, named_variables }: RunOptions): Job {
  const job = new ProvedJob(proved, cwd, commandEnvironment(env ?? process.env, named_variables));
  return {
    output: [job.output],
    exited: job.ended,
    closed: job.output.then(
      (stream) => new Promise((resolve) => stream.on("close", () => resolve())),
      () => {},
    ),
    kill: (signal) => job.kill(signal),
    left: () => null,
  };
}

function endOf(code: number | null, signal: string | null): Ended {
  if (signal !== null) return { exit_code: null, error: `Ended by ${signal}` };
  return { exit_code: code };
}

function spawnShell(command: string, options: RunOptions): ChildProcess {
  const shared = {
    cwd: options.cwd,
    env: commandEnvironment(options.env ?? process.env, options.named_variables),
  };
  if (process.platform === "win32") {
    return spawn("cmd.exe", ["/d", "/s", "/c", `"${command}"`], {
      ...shared,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      windowsVerbatimArguments: true,
    });
  }
  if (options.sandbox) return spawnWalled(command, options, options.sandbox);
  // The outer shell joins the two streams, so that their lines keep their order.
  return spawn("/bin/sh", ["-c", 'exec "$@" 2>&1', "sh", ...commandShell(), "-c", command], {
    ...shared,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
}

function spawnWalled(
  command: string,
  { cwd, env, named_variables, streams, waiting }: RunOptions,
  sandbox: SandboxStart,
): ChildProcess {
  const walled = {
    cwd,
    env: sandbox.env(commandEnvironment(env ?? process.env, named_variables)),
    input: streams !== undefined,
    joins: !streams?.errors,
  };
  const words = [...commandShell(), "-c", command];
  const ready = streams ? null : waiting?.take(words, sandbox, walled) ?? null;
  if (ready) return ready.child;
  const child = spawnSandboxed(words, sandbox, walled);
  if (streams && child.stdin) {
    child.stdin.on("error", () => {});
    streams.input.pipe(child.stdin);
  }
  return child;
}

function endGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore" }).on(
      "error",
      () => {},
    );
    return;
  }
  killFirst(child);
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has no process left.
  }
}
