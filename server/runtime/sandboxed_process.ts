import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setPriority } from "node:os";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { setImmediate, setTimeout } from "node:timers/promises";
import { identify, isSameProcess, memberOf, type ProcessIdentity } from "./processes.ts";
import type { ProcessLimits } from "./process_limits.ts";
import { ownUid } from "./self.ts";

/** A program that starts another one in a sandbox. */
export interface SandboxStart {
  /** The words before those of the other program. */
  argv: readonly string[];
  /** The bytes that it reads from its descriptors 3, 4 and so on. */
  inputs: readonly Uint8Array[];
  /** The words of the shell that prepares the process and ends with this text, which starts `"$@"`. */
  outer: (last: string) => readonly string[];
  /** The words in the sandbox before those of the command. */
  inside: readonly string[];
  /**
   * A shell that can wait in the sandbox for its commands, with the inputs of a sandbox that names no
   * folder for them; null if none can.
   */
  waits: { words: readonly string[]; inputs: readonly Uint8Array[] } | null;
  /**
   * Whether it tells the process above all others in the sandbox, on the descriptor after its inputs.
   * The kernel ends those when that one ends.
   */
  tells_first: boolean;
  /** The memory and processes that its processes may use together. */
  limits: ProcessLimits;
  /** The environment in the sandbox, from the one that the command would get. */
  env: (given: Record<string, string | undefined>) => Record<string, string | undefined>;
}

/** How a program is started in a sandbox. */
export interface SandboxedOptions {
  cwd: string;
  /** The environment in the sandbox. */
  env: Record<string, string | undefined>;
  /** Whether it has an input. */
  input: boolean;
  /** Whether its errors go into its output, in the order of writing. */
  joins: boolean;
}

/** Starts a program in a sandbox: a shell outside prepares the process, and becomes the sandbox. */
export function spawnSandboxed(
  words: readonly string[],
  sandbox: SandboxStart,
  options: SandboxedOptions,
): ChildProcess {
  const child = beginSandboxed(words, sandbox, options);
  void giveInputs(child, sandbox.inputs);
  return child;
}

/** Starts the program of the sandbox, which waits for its inputs before it builds anything. */
export function beginSandboxed(
  words: readonly string[],
  sandbox: SandboxStart,
  { cwd, env, input, joins }: SandboxedOptions,
): ChildProcess {
  const [program = "", ...options] = sandbox.outer(`exec "$@"${joins ? " 2>&1" : ""}`);
  const child = spawn(program, [...options, ...sandbox.argv, ...sandbox.inside, ...words], {
    cwd,
    env,
    // Pipes, so that the command gets no file, terminal or socket of the caller.
    stdio: [
      input ? "pipe" : "ignore",
      ...["pipe", "pipe", ...sandbox.inputs.map(() => "pipe")] as "pipe"[],
      ...sandbox.tells_first ? ["pipe" as const] : [],
    ],
    detached: true,
  });
  const told = child.stdio[3 + sandbox.inputs.length] as Readable | null | undefined;
  FIRST.set(child, sandbox.tells_first ? followFirst(told) : null);
  yieldToOthers(child.pid);
  return child;
}

/** The process above all others in a sandbox, as far as it was told. */
interface First {
  told: Promise<void>;
  identity: ProcessIdentity | null;
}

/** Null for a sandbox without such a process: there the group of the program holds all others. */
const FIRST = new WeakMap<ChildProcess, First | null>();

function followFirst(stream: Readable | null | undefined): First {
  const first: First = { told: Promise.resolve(), identity: null };
  if (!stream) return first;
  let text = "";
  stream.on("data", (chunk: Uint8Array) => {
    text += new TextDecoder().decode(chunk);
    const [, pid] = /"child-pid": (\d+)\D/.exec(text) ?? [];
    // One that has ended already has no identity.
    if (pid !== undefined) first.identity ??= identify(Number(pid));
  });
  stream.on("error", () => {});
  first.told = new Promise((resolve) => stream.on("close", () => resolve()));
  return first;
}

/** The most time for the end of all processes, and the part of it in which gate looks all the time. */
const END_MS = 5_000;
const LOOKED_MS = 3;

/**
 * Ends all processes of a sandbox whose program has ended, and waits until the kernel has none of them
 * any more. A command can make that program believe it has ended, and keep the others. `leftOf` returns
 * one that the kernel could not end.
 */
export async function endInside(child: ChildProcess): Promise<void> {
  await FIRST.get(child)?.told;
  const since = performance.now();
  for (let passed = 0; passed < END_MS; passed = performance.now() - since) {
    if (leftOf(child) === null) return;
    killFirst(child);
    if (FIRST.get(child) === null) killOne(-child.pid!);
    await (passed < LOOKED_MS ? setImmediate() : setTimeout(1));
  }
}

/** A process of this sandbox that has not ended; null if there is none, or if it is no sandbox. */
export function leftOf(child: ChildProcess): ProcessIdentity | null {
  const first = FIRST.get(child);
  if (first === undefined || child.pid === undefined) return null;
  if (first?.identity && isSameProcess(first.identity)) return first.identity;
  const hasEnded = child.exitCode !== null || child.signalCode !== null;
  // The kernel may have ended it before this runtime hears of it.
  const program = hasEnded ? null : identify(child.pid);
  return program ?? (first === null ? memberOf(child.pid) : null);
}

/** Ends the process above all others, if it was told and has not ended. */
export function killFirst(child: ChildProcess): void {
  const identity = FIRST.get(child)?.identity;
  if (identity && isSameProcess(identity)) killOne(identity.pid);
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Gives the program of a sandbox its inputs; resolves to whether it has taken all of them. */
export async function giveInputs(
  child: ChildProcess,
  inputs: readonly Uint8Array[],
): Promise<boolean> {
  const given = inputs.map((bytes, at) =>
    new Promise<boolean>((resolve) => {
      const stream = child.stdio[3 + at] as Writable | null | undefined;
      if (!stream) return resolve(false);
      // A program that ends early leaves its inputs unread.
      stream.on("error", () => resolve(false));
      stream.end(bytes, () => resolve(true));
    })
  );
  return (await Promise.all(given)).every((one) => one);
}

const NICE = 10;

/**
 * Lets other work go first, so that gate can stop a command that starts too much. The kernel bounds
 * the processes of every user but root.
 */
function yieldToOthers(pid: number | undefined): void {
  try {
    if (pid !== undefined && ownUid() === 0) setPriority(pid, NICE);
  } catch {
    // It has ended already, or this runtime cannot.
  }
}

const BASH = [
  "/bin/bash",
  "/usr/bin/bash",
  "/usr/local/bin/bash",
  "/run/current-system/sw/bin/bash",
];

/** The words that start the shell of commands, without the user's settings. */
export function commandShell(): string[] {
  const bash = BASH.find((path) => existsSync(path));
  return bash ? [bash, "--noprofile", "--norc"] : ["/bin/sh"];
}
