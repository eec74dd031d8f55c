import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { commandEnvironment } from "./command_environment.ts";
import { OutputBuffer } from "./output_buffer.ts";

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
}

/** From SIGTERM to SIGKILL. */
const GRACE_MS = 2_000;
/** For the last output after the command has ended. */
const DRAIN_MS = 250;
/** For processes that even SIGKILL does not end at once. */
const GIVE_UP_MS = 5_000;

/**
 * Runs one command line without input in its own process group, and ends the whole group with it.
 * Never throws: a command that cannot start returns an `error`.
 */
export async function runCommand(command: string, options: RunOptions): Promise<RunResult> {
  const started = performance.now();
  const buffer = new OutputBuffer(options.max_output_bytes);
  const ended = options.signal?.aborted
    ? { exit_code: null, error: "Stopped before it began" }
    : await new Run(command, options, buffer).ended;
  const { text: output, truncated } = buffer.finish();
  return { ...ended, output, truncated, duration_ms: Math.round(performance.now() - started) };
}

interface Ended {
  exit_code: number | null;
  error?: string;
}

/** One command from start to end. */
class Run {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal | undefined;
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #resolve!: (ended: Ended) => void;
  #why: string | undefined;

  constructor(command: string, options: RunOptions, buffer: OutputBuffer) {
    this.ended = new Promise((resolve) => this.#resolve = resolve);
    this.#child = spawnShell(command, options);
    this.#signal = options.signal;
    this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    const seconds = options.timeout_ms / 1000;
    this.#later(
      options.timeout_ms,
      () => this.#stop(`Timed out after ${seconds} s: it was stopped`),
    );
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (chunk: Uint8Array) => buffer.add(chunk));
      stream?.on("error", () => {});
    }
    this.#child.on("error", (error) => {
      this.#settle({ exit_code: null, error: `Cannot run the command: ${error.message}` });
    });
    this.#child.on("exit", (code, signal) => this.#exited(endOf(code, signal, this.#why)));
  }

  readonly #onAbort = () =>
    this.#stop("Stopped: the agent's connection ended or a person stopped it");

  #stop(why: string): void {
    this.#why ??= why;
    endGroup(this.#child, "SIGTERM");
    this.#later(GRACE_MS, () => endGroup(this.#child, "SIGKILL"));
    this.#later(GIVE_UP_MS, () => this.#settle({ exit_code: null, error: why }));
  }

  #exited(ended: Ended): void {
    if (process.platform !== "win32") endGroup(this.#child, "SIGTERM");
    // A background child may keep the pipe open, but the command's own output is already in it.
    this.#later(DRAIN_MS, () => this.#settle(ended));
    this.#child.on("close", () => this.#settle(ended));
  }

  #settle(ended: Ended): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (process.platform !== "win32") endGroup(this.#child, "SIGKILL");
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.destroy();
    this.#resolve(ended);
  }

  #later(ms: number, run: () => void): void {
    this.#timers.push(setTimeout(run, ms));
  }
}

function endOf(code: number | null, signal: string | null, why: string | undefined): Ended {
  if (why !== undefined) return { exit_code: null, error: why };
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
  // The outer shell joins the two streams, so that their lines keep their order.
  return spawn("/bin/sh", ["-c", 'exec "$@" 2>&1', "sh", ...shell(), "-c", command], {
    ...shared,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
}

const BASH = [
  "/bin/bash",
  "/usr/bin/bash",
  "/usr/local/bin/bash",
  "/run/current-system/sw/bin/bash",
];

function shell(): string[] {
  const bash = BASH.find((path) => existsSync(path));
  return bash ? [bash, "--noprofile", "--norc"] : ["/bin/sh"];
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
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has no process left.
  }
}
