import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import {
  beginSandboxed,
  giveInputs,
  type SandboxedOptions,
  type SandboxStart,
} from "./sandboxed_process.ts";

/** From the end of a command until the next sandbox is prepared, so that the command's answer goes first. */
const PAUSE_MS = 20;
/** A process that no command used ends after this time. */
const KEPT_MS = 5 * 60 * 1000;
/** A longer text is no single argument of a program. */
const MAX_WORDS = 64 * 1024;
const READY = "ready\n";

/** A start of a sandbox in which a shell can wait. */
interface Start {
  sandbox: SandboxStart;
  waits: NonNullable<SandboxStart["waits"]>;
  options: SandboxedOptions;
  /** The folder of the command. */
  folder: string;
  /** Everything that its process depends on before it builds the sandbox. */
  begun_key: string;
  /** Everything that the sandbox depends on, the mounts outside included. */
  built_key: string;
}

/** The process of a sandbox that is not built: it waits for its inputs. */
interface Begun {
  key: string;
  child: ChildProcess;
  ends: ReturnType<typeof setTimeout>;
}

interface Built {
  key: string;
  child: ChildProcess;
  /** The process in the sandbox, and the mounts that it sees; null until it is ready. */
  inside: { pid: number; mounts: string } | null;
  ends: ReturnType<typeof setTimeout>;
}

/**
 * Prepares the sandbox of the next command. The process that builds a sandbox is always begun ahead: it
 * knows no walls yet, so it serves whatever walls the next command needs. When two commands in a row
 * ran behind the same walls, the sandbox is also built ahead, because that takes longer than most
 * commands; a shell waits in it. It is used only for exactly the same start, and only if the kernel
 * still has each of its mounts in place: a file that was replaced since has lost the mount that hid it.
 */
export class WaitingSandbox {
  #last: Start | null = null;
  #isRepeated = false;
  #begun: Begun | null = null;
  #built: Built | null = null;
  #next: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** Whether the process of a sandbox waits for its walls. */
  get hasBegun(): boolean {
    return this.#begun !== null;
  }

  /** Whether a sandbox is built and waits. */
  get isReady(): boolean {
    return this.#built?.inside != null;
  }

  /** A process that runs these words in the sandbox of this start, if one was prepared; else null. */
  take(
    words: readonly string[],
    sandbox: SandboxStart,
    options: SandboxedOptions,
  ): { child: ChildProcess; was_built: boolean } | null {
    clearTimeout(this.#next);
    const start = startOf(sandbox, options);
    this.#isRepeated = start !== null && start.built_key === this.#last?.built_key;
    this.#last = start;
    if (start === null) return null;
    const line = lineOf(words, start);
    if (line.length > MAX_WORDS) return null;
    const built = this.#takeBuilt(start);
    if (built !== null) {
      built.stdin!.end(line);
      return { child: built, was_built: true };
    }
    const begun = this.#takeBegun(start);
    if (begun === null) return null;
    void giveInputs(begun, start.waits.inputs).then((isGiven) => {
      // Without all of its inputs, it would have other walls.
      if (isGiven) begun.stdin!.end(line);
      else kill(begun);
    });
    return { child: begun, was_built: false };
  }

  /** Prepares the next sandbox; call it when a command has ended. */
  prepare(): void {
    const next = this.#last;
    if (next === null || this.#isClosed) return;
    clearTimeout(this.#next);
    this.#next = this.#later(PAUSE_MS, () => {
      if (this.#isRepeated && this.#built === null) {
        this.#build(next, this.#takeBegun(next) ?? beginWaiting(next));
      }
      if (this.#begun === null) this.#begin(next);
    });
  }

  /** Ends what waits, and prepares nothing more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#next);
    this.#drop(this.#begun);
    this.#drop(this.#built);
  }

  #begin(start: Start): void {
    const child = beginWaiting(start);
    const ends = this.#later(KEPT_MS, () => this.#drop(begun));
    const begun: Begun = { key: start.begun_key, child, ends };
    this.#begun = begun;
    child.on("error", () => this.#drop(begun));
    child.on("exit", () => this.#drop(begun));
  }

  /** The process that was begun for such a start, once; one for another start ends. */
  #takeBegun({ begun_key }: Start): ChildProcess | null {
    const begun = this.#begun;
    if (begun === null) return null;
    this.#release(begun);
    if (begun.key === begun_key) return begun.child;
    kill(begun.child);
    return null;
  }

  #build({ built_key, waits }: Start, child: ChildProcess): void {
    const ends = this.#later(KEPT_MS, () => this.#drop(built));
    const built: Built = { key: built_key, child, inside: null, ends };
    this.#built = built;
    child.on("error", () => this.#drop(built));
    child.on("exit", () => this.#drop(built));
    void giveInputs(child, waits.inputs).then((isGiven) => {
      if (isGiven) child.stdin!.write(`echo ${READY}`);
      else this.#drop(built);
    });
    child.stdout!.once("data", (chunk: Uint8Array) => {
      child.stdout!.pause();
      built.inside = new TextDecoder().decode(chunk) === READY ? insideOf(child) : null;
      if (built.inside === null) this.#drop(built);
    });
  }

  /** The shell that waits in the sandbox of this start, once. */
  #takeBuilt({ built_key }: Start): ChildProcess | null {
    const built = this.#built;
    // One that is still built is for a later command.
    if (built === null || (built.key === built_key && built.inside === null)) return null;
    this.#release(built);
    if (built.key === built_key && isInPlace(built)) return built.child;
    kill(built.child);
    return null;
  }

  /** Ends a process, unless a command has taken it. */
  #drop(waiting: Begun | Built | null): void {
    if (waiting !== null && this.#release(waiting)) kill(waiting.child);
  }

  /** Whether the process still waited. */
  #release(waiting: Begun | Built): boolean {
    if (waiting !== this.#begun && waiting !== this.#built) return false;
    clearTimeout(waiting.ends);
    if (waiting === this.#begun) this.#begun = null;
    else this.#built = null;
    return true;
  }

  #later(ms: number, run: () => void): ReturnType<typeof setTimeout> {
    const timer = setTimeout(run, ms);
    timer.unref();
    return timer;
  }
}

/** The start with its keys; null if no shell can wait in this sandbox. */
function startOf(sandbox: SandboxStart, options: SandboxedOptions): Start | null {
  const { argv, outer, inside, waits } = sandbox;
  const { joins, env: { PWD: folder, ...others } } = options;
  if (waits === null || folder === undefined) return null;
  const { words, inputs } = waits;
  // Some runtimes list the variables in another order each time.
  const variables = Object.entries(others).toSorted(([a], [b]) => a < b ? -1 : 1);
  const begun_key = JSON.stringify(
    [argv, inputs.length, outer(""), inside, words, variables, joins],
  );
  const given = inputs.map((bytes) => new TextDecoder("latin1").decode(bytes));
  const built_key = JSON.stringify([begun_key, given, mountsOf(process.pid)]);
  return { sandbox, waits, folder, options, begun_key, built_key };
}

/** The process of a sandbox in which a shell will wait. */
function beginWaiting({ sandbox, waits, options }: Start): ChildProcess {
  const child = beginSandboxed(waits.words, sandbox, { ...options, input: true });
  child.stdin!.on("error", () => {});
  return child;
}

/** The line that the waiting shell reads and runs. */
function lineOf(words: readonly string[], { folder }: Start): string {
  const place = quoted(folder);
  return `cd ${place} || exit 126; PWD=${place}; unset OLDPWD; exec ${
    words.map(quoted).join(" ")
  } </dev/null\n`;
}

/** Whether the sandbox is ready, and each mount is where it was when the shell began to wait. */
function isInPlace({ inside }: Built): boolean {
  return inside !== null && mountsOf(inside.pid) === inside.mounts;
}

/** The shell at the end of the line of processes that builds the sandbox, and its mounts. */
function insideOf({ pid }: ChildProcess): Built["inside"] {
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
