import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import type { Exec } from "../schema.ts";
import { showsStackTrace } from "./leaks.ts";
import { failed, passed, type Verdict } from "./verdict.ts";

/** The result of a command line. */
export interface CommandRun {
  exit_code: number | null;
  signal: string | null;
  timed_out: boolean;
  stdout: string;
  stderr: string;
  /** Bytes of output that were read and dropped. */
  dropped_bytes: number;
  error: string | null;
}

export interface CommandOptions {
  timeout_ms: number;
  cwd: string;
  env: Record<string, string | undefined>;
  /** Kills a whole process group. */
  killGroup: (pid: number) => void;
  /** Its output is not read. */
  unread?: boolean;
}

/** The head and the tail of each stream are kept, this much together. */
const KEPT_BYTES = 32 * 1024;
/** After the exit, children may hold the pipes open for this long. */
const LINGER_MS = 500;

/** Runs a program without a shell, in its own process group. Never throws. */
export function runCommand(argv: string[], options: CommandOptions): Promise<CommandRun> {
  return new Promise((resolve) => {
    const [program = "", ...rest] = argv;
    const child = start(program, rest, options);
    if (child instanceof Error) return resolve(notStarted(child));
    if (options.unread) child.stdout!.destroy();
    const streams = [new Capture(child.stdout!), new Capture(child.stderr!)] as const;
    let timed_out = false;
    const timer = setTimeout(() => {
      timed_out = true;
      end(child, options);
    }, options.timeout_ms);
    const finish = (error: string | null, code: number | null, signal: string | null) => {
      clearTimeout(timer);
      end(child, options);
      resolve({ exit_code: code, signal, timed_out, ...textOf(streams), error });
    };
    child.on("error", (error) => finish(`cannot be started: ${error.message}`, null, null));
    child.on("exit", (code, signal) => {
      const linger = setTimeout(() => finish(null, code, signal), LINGER_MS);
      child.on("close", () => {
        clearTimeout(linger);
        finish(null, code, signal);
      });
    });
  });
}

/** Exit codes of shells and launchers for a program that cannot run or that a signal ended. */
const CRASHES = new Set([126, 127, 132, 133, 134, 135, 136, 137, 139]);

/** Node throws for some arguments, such as one with a NUL. */
function start(program: string, rest: string[], { cwd, env }: CommandOptions) {
  try {
    return spawn(program, rest, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    return error as Error;
  }
}

function notStarted({ message }: Error): CommandRun {
  const nothing = { exit_code: null, signal: null, timed_out: false, stdout: "", stderr: "" };
  return { ...nothing, dropped_bytes: 0, error: `cannot be started: ${message}` };
}

/** Passes with the expected exit code (default 0), in time, without a signal or a forbidden text. */
export function judgeCommand(exec: Exec, run: CommandRun, timeout_ms: number): Verdict {
  const verdict = judgeExit(exec, run, timeout_ms);
  const shown = exec.forbidden?.traces && showsStackTrace(`${run.stdout}\n${run.stderr}`);
  return verdict.status === "passed" && shown
    ? failed(`${verdict.reason}, but a stack trace is shown`)
    : verdict;
}

function judgeExit(exec: Exec, run: CommandRun, timeout_ms: number): Verdict {
  if (run.error) return failed(`The command ${run.error}`);
  if (run.timed_out) return failed(`The command did not end within ${timeout_ms} ms`);
  if (run.signal) return failed(`The command died of ${run.signal}`);
  const code = run.exit_code ?? 0;
  if (exec.expected_end && exec.expected_exit === undefined) {
    const words = exec.expected_end === "refused" ? "an error code" : "an end without a crash";
    const isFine = !CRASHES.has(code) && (code > 0 || exec.expected_end === "orderly");
    return isFine
      ? passed(`Exited with ${code}`)
      : failed(`Exited with ${code} instead of ${words}`);
  }
  const expected = exec.expected_exit ?? 0;
  return code === expected
    ? passed(`Exited with ${expected} as expected`)
    : failed(`Exited with ${code} instead of ${expected}`);
}

class Capture {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  dropped = 0;

  constructor(stream: NodeJS.ReadableStream) {
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  text(): string {
    const cut = this.dropped > 0 ? `\n[… ${this.dropped} bytes left out …]\n` : "";
    return Buffer.concat(this.#head).toString("utf8") + cut + this.#tail.toString("utf8");
  }

  #take(chunk: Buffer): void {
    const room = KEPT_BYTES / 2 - this.#headBytes;
    const first = chunk.subarray(0, Math.max(0, room));
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = Buffer.concat([this.#tail, chunk.subarray(first.length)]);
    this.#tail = rest.subarray(Math.max(0, rest.length - KEPT_BYTES / 2));
    this.dropped += rest.length - this.#tail.length;
  }
}

function textOf([out, err]: readonly [Capture, Capture]) {
  return { stdout: out.text(), stderr: err.text(), dropped_bytes: out.dropped + err.dropped };
}

function end(child: ChildProcess, options: CommandOptions): void {
  if (child.pid !== undefined) options.killGroup(child.pid);
}
