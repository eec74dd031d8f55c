import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { type SandboxedOptions, type SandboxStart, spawnSandboxed } from "./sandboxed_process.ts";

/** From the end of a command until the next sandbox is built, so that the command's answer goes first. */
const PAUSE_MS = 20;
/** A sandbox that no command used ends after this time. */
const KEPT_MS = 5 * 60 * 1000;
/** A longer text is no single argument of a program. */
const MAX_WORDS = 64 * 1024;
const READY = "ready\n";

/** A start of a sandbox; the key has everything that it depends on. */
interface Start {
  key: string;
  sandbox: SandboxStart;
  options: SandboxedOptions;
}

interface Waiting {
  key: string;
  child: ChildProcess;
  /** The process in the sandbox, and the mounts that it sees; null until it is ready. */
  inside: { pid: number; mounts: string } | null;
  ends: ReturnType<typeof setTimeout>;
}

/**
 * Builds the sandbox of the next command ahead, when two commands in a row ran behind the same walls:
 * to build one takes longer than most commands. A shell waits in it. The sandbox is used only for
 * exactly the same start, and only if the kernel still has each of its mounts in place: a file that was
 * replaced since has lost the mount that hid it. Everything else gets a new sandbox.
 */
export class WaitingSandbox {
  #last: Start | null = null;
  #repeated: Start | null = null;
  #waiting: Waiting | null = null;
  #next: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** Whether a sandbox is built and waits. */
  get isReady(): boolean {
    return this.#waiting?.inside != null;
  }

  /** A process that runs these words, if it waits in the sandbox of this start; else null. */
  take(
    words: readonly string[],
    sandbox: SandboxStart,
    options: SandboxedOptions,
  ): ChildProcess | null {
    clearTimeout(this.#next);
    const key = keyOf(sandbox, options);
    const start = key === null ? null : { key, sandbox, options };
    this.#repeated = start?.key === this.#last?.key ? start : null;
    this.#last = start;
    const waiting = this.#waiting;
    if (waiting === null) return null;
    // One that is still built is for a later command.
    if (waiting.key === key && waiting.inside === null) return null;
    this.#drop({ kills: false });
    const line = `exec ${words.map(quoted).join(" ")} </dev/null\n`;
    if (waiting.key !== key || line.length > MAX_WORDS || !isInPlace(waiting)) {
      kill(waiting.child);
      return null;
    }
    waiting.child.stdin!.end(line);
    return waiting.child;
  }

  /** Builds the next sandbox; call it when a command has ended. */
  prepare(): void {
    const next = this.#repeated;
    if (next === null || this.#isClosed) return;
    clearTimeout(this.#next);
    this.#next = this.#later(PAUSE_MS, () => this.#build(next));
  }

  /** Ends the sandbox that waits, and builds no other one. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#next);
    this.#drop();
  }

  #build({ key, sandbox, options }: Start): void {
    if (this.#waiting !== null || sandbox.waits === null) return;
    const child = spawnSandboxed(sandbox.waits, sandbox, { ...options, input: true });
    const ends = this.#later(KEPT_MS, () => this.#drop());
    const waiting: Waiting = { key, child, inside: null, ends };
    this.#waiting = waiting;
    const over = () => {
      if (this.#waiting === waiting) this.#drop();
    };
    child.on("error", over);
    child.on("exit", over);
    child.stdin!.on("error", () => {});
    child.stdin!.write(`echo ${READY}`);
    child.stdout!.once("data", (chunk: Uint8Array) => {
      child.stdout!.pause();
      waiting.inside = new TextDecoder().decode(chunk) === READY ? insideOf(child) : null;
      if (waiting.inside === null) over();
    });
  }

  #drop({ kills = true } = {}): void {
    if (this.#waiting === null) return;
    clearTimeout(this.#waiting.ends);
    if (kills) kill(this.#waiting.child);
    this.#waiting = null;
  }

  #later(ms: number, run: () => void): ReturnType<typeof setTimeout> {
    const timer = setTimeout(run, ms);
    timer.unref();
    return timer;
  }
}

/** Everything that the sandbox depends on, the mounts outside included; null if no shell can wait in it. */
function keyOf(sandbox: SandboxStart, { cwd, env, joins }: SandboxedOptions): string | null {
  const { argv, inputs, outer, inside, waits } = sandbox;
  if (waits === null) return null;
  const given = inputs.map((bytes) => new TextDecoder("latin1").decode(bytes));
  // Some runtimes list the variables in another order each time.
  const variables = Object.entries(env).toSorted(([a], [b]) => a < b ? -1 : 1);
  const outside = mountsOf(process.pid);
  return JSON.stringify([argv, given, outer(""), inside, waits, cwd, variables, joins, outside]);
}

/** Whether the sandbox is ready, and each mount is where it was when the shell began to wait. */
function isInPlace({ inside }: Waiting): boolean {
  return inside !== null && mountsOf(inside.pid) === inside.mounts;
}

/** The shell at the end of the line of processes that builds the sandbox, and its mounts. */
function insideOf({ pid }: ChildProcess): Waiting["inside"] {
  let last = pid;
  for (let next = last; next !== undefined; next = childOf(next)) last = next;
  const mounts = last === undefined || last === pid ? null : mountsOf(last);
  return mounts === null ? null : { pid: last!, mounts };
}

function childOf(pid: number): number | undefined {
  const [first] = read(`/proc/${pid}/task/${pid}/children`)?.split(" ") ?? [];
  return first ? Number(first) : undefined;
}

function mountsOf(pid: number): string | null {
  return read(`/proc/${pid}/mountinfo`) || null;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // the process has ended, or the kernel does not tell
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
