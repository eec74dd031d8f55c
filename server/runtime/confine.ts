import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import process from "node:process";
import { answerAttributeCalls } from "./attribute_calls.ts";
import { selfConfine } from "./self.ts";
import { type Argument, COMMON_CALLS, openSystemCalls, type SystemCalls } from "./system_calls.ts";

/** The rights of a command, held by the kernel. Everything that is not listed is refused. */
export interface ConfineOrder {
  /** Files and folders with the rights of Landlock on them and all that is below. */
  rules: { path: string; rights: number }[];
  /** The folders whose files may get other permission bits and times. */
  writable: string[];
  /** The filter of system calls, as base64. */
  filter: string;
  /** How many processes and threads it may start. */
  threads: number;
}

/** As a shell answers for a command that it cannot start. */
const CANNOT_START = 126;
const ORDER = "GATE_CONFINE";
const INNER = "enter";
const VERSION = "version";

/**
 * Runs a command of `words` that the kernel holds to the order on descriptor 3, and ends with its exit
 * code. A second process of this program restricts itself and becomes the command. This one answers
 * its calls that change permission bits and times, which Landlock does not know.
 */
export async function confine(words: readonly string[]): Promise<never> {
  const [first = "", ...rest] = words;
  try {
    const calls = await openSystemCalls();
    if (!calls) throw new Error("this runtime cannot make system calls");
    if (first === VERSION) return tellVersion(calls);
    if (first === INNER) return enter(calls, rest);
    return start(calls, words);
  } catch (error) {
    console.error(`gate: Cannot start the sandbox: ${messageOf(error)}`);
    return process.exit(CANNOT_START);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Prints the version of Landlock; 0 if the kernel has none. */
function tellVersion({ call }: SystemCalls): never {
  const asksVersion = 1;
  const version = call(COMMON_CALLS.landlock_create_ruleset, 0, 0, asksVersion);
  console.log(Math.max(0, version));
  return process.exit(0);
}

function start(calls: SystemCalls, words: readonly string[]): never {
  const text = readOrder(calls);
  const order = JSON.parse(text) as ConfineOrder;
  const self = selfConfine();
  if (!self) throw new Error("this program cannot be started again");
  const [program = "", ...args] = self;
  const child = spawn(program, [...args, INNER, ...words], {
    stdio: "inherit",
    env: { ...process.env, [ORDER]: text },
  });
  // Nothing is awaited, so that the runtime does not reap the child first.
  child.on("error", () => {});
  if (child.pid === undefined) throw new Error("its second process cannot be started");
  process.exit(answerAttributeCalls(calls, child.pid, order.writable));
}

const ORDER_FD = 3;
const PIECE = 65_536;
const MOST_BYTES = 16 * 1024 * 1024;

/** The order may come through a socket, which cannot be opened by a name. */
function readOrder({ numbers, call }: SystemCalls): string {
  const pieces: Uint8Array[] = [];
  for (let bytes = 0; bytes < MOST_BYTES;) {
    const piece = new Uint8Array(PIECE);
    const count = call(numbers.read, ORDER_FD, piece, PIECE);
    if (count < 0) throw new Error("its order cannot be read");
    if (count === 0) return Buffer.concat(pieces).toString();
    pieces.push(piece.subarray(0, count));
    bytes += count;
  }
  throw new Error("its order is too large");
}

/** Restricts this process and becomes the command. @throws Error if any step fails */
function enter(calls: SystemCalls, words: readonly string[]): never {
  const { numbers, call, addressOf } = calls;
  const { [ORDER]: text, ...env } = process.env;
  const { rules, filter, threads } = JSON.parse(text!) as ConfineOrder;
  const must = (step: string, result: number) => {
    if (result < 0) throw new Error(`${step} was refused by the kernel`);
    return result;
  };
  const prctl = (...given: Argument[]) => call(numbers.prctl, ...given);
  must("keeping new rights out", prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0));
  boundThreads(calls, threads);
  for (let one = 0; one <= LAST_CAPABILITY; one++) prctl(DROP_FROM_BOUNDING_SET, one);
  must("dropping capabilities", call(numbers.capset, headerOfCapabilities(), new Uint8Array(24)));
  const ruleset = must("Landlock", call(COMMON_CALLS.landlock_create_ruleset, attributes(), 24, 0));
  for (const { path, rights } of rules) addRule(calls, ruleset, path, rights);
  // On exec, only ignored signals and blocked ones stay as they are.
  for (let signal = 1; signal <= LAST_SIGNAL; signal++) {
    call(numbers.rt_sigaction, signal, new Uint8Array(32), 0, 8);
  }
  call(numbers.rt_sigprocmask, SET_MASK, new Uint8Array(8), 0, 8);
  must("Landlock", call(COMMON_CALLS.landlock_restrict_self, ruleset, 0));
  const instructions = Uint8Array.from(atob(filter), (one) => one.charCodeAt(0));
  const program = new Uint8Array(16);
  const view = new DataView(program.buffer);
  view.setUint16(0, instructions.length / 8, true);
  view.setBigUint64(8, addressOf(instructions), true);
  const exec = execution(calls, words, env);
  must("the filter of system calls", call(numbers.seccomp, SET_FILTER, NEW_LISTENER, program));
  // The answer comes when the other process listens, so no later call is lost.
  call(numbers.fchmod, -1, 0);
  call(COMMON_CALLS.close_range, 3, 0xffff_ffff, 0);
  exec();
  return process.exit(CANNOT_START);
}

const NO_NEW_PRIVILEGES = 38;
const DROP_FROM_BOUNDING_SET = 24;
const LAST_CAPABILITY = 63;
const LAST_SIGNAL = 64;
const SET_MASK = 2;
const SET_FILTER = 1;
const NEW_LISTENER = 8;
/** All rights on files of the fifth version of Landlock. */
export const ALL_RIGHTS = 0xffff;
/** Binding and connecting TCP sockets. */
const ALL_NETWORK = 3n;
/** Abstract sockets and signals. */
const ALL_SCOPES = 3n;

function attributes(): Uint8Array {
  const bytes = new Uint8Array(24);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(ALL_RIGHTS), true);
  view.setBigUint64(8, ALL_NETWORK, true);
  view.setBigUint64(16, ALL_SCOPES, true);
  return bytes;
}

function headerOfCapabilities(): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setUint32(0, 0x2008_0522, true);
  return bytes;
}

const AT_CWD = -100;
const ONLY_PATH = 0o10000000;
const NO_LINK = 0o400000;
const PATH_BENEATH = 1;
/** The rights on a single file; the kernel refuses the others for it. */
const FILE_RIGHTS = 0b1100_0000_0000_0111;

function addRule(
  { numbers, call }: SystemCalls,
  ruleset: number,
  path: string,
  rights: number,
): void {
  const fd = call(numbers.openat, AT_CWD, textOf(path), ONLY_PATH | NO_LINK, 0);
  // A path that is gone cannot be opened by the command either.
  if (fd < 0) return;
  const isFolder = statSync(`/proc/self/fd/${fd}`).isDirectory();
  const rule = new Uint8Array(12);
  const view = new DataView(rule.buffer);
  view.setBigUint64(0, BigInt(isFolder ? rights : rights & FILE_RIGHTS), true);
  view.setInt32(8, fd, true);
  if (call(COMMON_CALLS.landlock_add_rule, ruleset, PATH_BENEATH, rule, 0) < 0) {
    throw new Error(`Landlock refuses a rule about ${JSON.stringify(path)}`);
  }
}

const PROCESSES_OF_USER = 6;
const PRLIMIT: Record<string, number> = { x64: 302, arm64: 261 };

/** Bounds what this user may start in all: the kernel counts every process of a user. */
function boundThreads({ call }: SystemCalls, threads: number): void {
  const uid = process.getuid!();
  const number = PRLIMIT[process.arch];
  if (uid === 0 || number === undefined) return;
  const own = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
    .reduce((sum, pid) => sum + threadsOf(pid, uid), 0);
  const limit = new BigUint64Array([BigInt(own + threads), BigInt(own + threads)]);
  call(number, 0, PROCESSES_OF_USER, new Uint8Array(limit.buffer), 0);
}

function threadsOf(pid: string, uid: number): number {
  try {
    return statSync(`/proc/${pid}`).uid === uid ? readdirSync(`/proc/${pid}/task`).length : 0;
  } catch {
    return 0; // it has ended
  }
}

/** A call that becomes the command. All of its memory is made before the filter is in force. */
function execution(
  { numbers, call, addressOf }: SystemCalls,
  words: readonly string[],
  env: Record<string, string | undefined>,
): () => void {
  const list = (texts: readonly string[]) => {
    const memory = texts.map(textOf);
    const addresses = new BigUint64Array([...memory.map(addressOf), 0n]);
    return { memory, pointers: new Uint8Array(addresses.buffer) };
  };
  const path = textOf(words[0]!);
  const given = list(words);
  const variables = list(Object.entries(env).map(([name, value]) => `${name}=${value}`));
  return () => {
    call(numbers.execve, path, given.pointers, variables.pointers);
    // Kept in use until here.
    given.memory.length = variables.memory.length = 0;
  };
}

function textOf(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}
