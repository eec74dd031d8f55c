import { readdirSync, readlinkSync } from "node:fs";
import process from "node:process";
import { COMMON_CALLS, type SystemCalls } from "./system_calls.ts";

/**
 * Calls that change permission bits or times, by architecture. Landlock does not know them, so the
 * filter passes them to another process.
 */
export const ATTRIBUTE_CALLS: Record<string, Record<number, AttributeCall>> = {
  x64: {
    90: { changes: "mode", path: 0, value: 1 },
    91: { changes: "mode", fd: 0, value: 1 },
    132: { changes: "times", path: 0, value: 1, unit: "seconds" },
    235: { changes: "times", path: 0, value: 1, unit: "microseconds" },
    261: { changes: "times", fd: 0, path: 1, value: 2, unit: "microseconds" },
    268: { changes: "mode", fd: 0, path: 1, value: 2 },
    280: { changes: "times", fd: 0, path: 1, value: 2, flags: 3, unit: "nanoseconds" },
    452: { changes: "mode", fd: 0, path: 1, value: 2, flags: 3 },
  },
  arm64: {
    52: { changes: "mode", fd: 0, value: 1 },
    53: { changes: "mode", fd: 0, path: 1, value: 2 },
    88: { changes: "times", fd: 0, path: 1, value: 2, flags: 3, unit: "nanoseconds" },
    452: { changes: "mode", fd: 0, path: 1, value: 2, flags: 3 },
  },
};

/** The places of the arguments of such a call. */
interface AttributeCall {
  changes: "mode" | "times";
  fd?: number;
  path?: number;
  value: number;
  flags?: number;
  unit?: "seconds" | "microseconds" | "nanoseconds";
}

const [EPERM, ENOENT, EBADF, EFAULT, EINVAL] = [1, 2, 9, 14, 22];
const [READABLE, HUNG_UP] = [1, 16];
const RECEIVE = 0xc0502100;
const SEND = 0xc0182101;
const IS_VALID = 0x40082102;
const NOTICE_BYTES = 80;
const ANSWER_BYTES = 24;
const LISTEN_MS = 5_000;

/**
 * Answers the calls of a command that change permission bits and times, until its first process
 * ends. It makes each call itself on the file that it has opened and looked up, and only in these
 * folders. Returns the exit code of that process. @throws Error if it cannot listen
 */
export function answerAttributeCalls(
  calls: SystemCalls,
  pid: number,
  writable: readonly string[],
): number {
  const process_fd = calls.call(COMMON_CALLS.pidfd_open, pid, 0);
  const listener = process_fd < 0 ? null : findListener(calls, pid, process_fd);
  // It has ended before it listened, with a message of its own.
  if (listener === null) return endOf(calls, pid);
  const watched = new Int32Array([listener, READABLE, process_fd, READABLE]);
  const bytes = new Uint8Array(watched.buffer);
  for (;;) {
    if (poll(calls, bytes, null) < 0) continue;
    const [, first = 0, , second = 0] = watched;
    const [of_listener, of_process] = [first >>> 16, second >>> 16];
    watched[1] = watched[3] = READABLE;
    if ((of_listener & READABLE) !== 0) answerOne(calls, listener, writable);
    else if (of_process !== 0 || (of_listener & HUNG_UP) !== 0) return endOf(calls, pid);
  }
}

function poll({ numbers, call }: SystemCalls, bytes: Uint8Array, ms: number | null): number {
  const timeout = ms === null ? 0 : new Uint8Array(
    new BigInt64Array([0n, BigInt(ms) * 1_000_000n]).buffer,
  );
  return call(numbers.poll, bytes, bytes.length / 8, timeout, 0, 8);
}

/** The listener that the process has made; null if the process ended. */
function findListener(calls: SystemCalls, pid: number, process_fd: number): number | null {
  const end = performance.now() + LISTEN_MS;
  const watched = new Int32Array([process_fd, READABLE]);
  const bytes = new Uint8Array(watched.buffer);
  while (performance.now() < end) {
    const found = listenerOf(pid);
    if (found !== null) {
      const fd = calls.call(COMMON_CALLS.pidfd_getfd, process_fd, found, 0);
      if (fd >= 0) return fd;
      kill(pid);
      throw new Error("the kernel does not let gate answer its calls");
    }
    watched[1] = READABLE;
    if (poll(calls, bytes, 1) > 0) return null;
  }
  kill(pid);
  throw new Error("its second process did not restrict itself in time");
}

function listenerOf(pid: number): number | null {
  const folder = `/proc/${pid}/fd`;
  for (const name of namesIn(folder)) {
    try {
      if (readlinkSync(`${folder}/${name}`) === "anon_inode:seccomp notify") return Number(name);
    } catch {
      // It was closed meanwhile.
    }
  }
  return null;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Waits for the end of the process. Returns its exit code as a shell tells it. */
function endOf({ numbers, call }: SystemCalls, pid: number): number {
  const status = new Int32Array(1);
  while (call(numbers.wait4, pid, new Uint8Array(status.buffer), 0, 0) < 0) {
    // Interrupted, unless nobody is there any more.
    if (namesIn(`/proc/${pid}/fd`).length === 0) return 126;
  }
  const signal = status[0]! & 0x7f;
  return signal === 0 ? (status[0]! >> 8) & 0xff : 128 + signal;
}

function answerOne(calls: SystemCalls, listener: number, writable: readonly string[]): void {
  const notice = new Uint8Array(NOTICE_BYTES);
  if (calls.call(calls.numbers.ioctl, listener, RECEIVE, notice) < 0) return;
  const view = new DataView(notice.buffer);
  const id = view.getBigUint64(0, true);
  const asked: Asked = {
    ...{ calls, writable, tid: view.getUint32(8, true) },
    given: Array.from({ length: 6 }, (_, at) => view.getBigUint64(32 + at * 8, true)),
    // The number of the process may belong to another one by now.
    isValid: () => calls.call(calls.numbers.ioctl, listener, IS_VALID, notice.slice(0, 8)) >= 0,
  };
  const error = errorOf(asked, view.getInt32(16, true));
  const answer = new Uint8Array(ANSWER_BYTES);
  const out = new DataView(answer.buffer);
  out.setBigUint64(0, id, true);
  out.setInt32(16, -error, true);
  calls.call(calls.numbers.ioctl, listener, SEND, answer);
}

interface Asked {
  calls: SystemCalls;
  writable: readonly string[];
  /** The thread that calls. */
  tid: number;
  given: readonly bigint[];
  isValid: () => boolean;
}

/** Makes the call. Returns the number of its error, 0 for none. */
function errorOf(asked: Asked, number: number): number {
  const known = ATTRIBUTE_CALLS[process.arch]?.[number];
  if (!known) return EPERM;
  const { calls, writable, given } = asked;
  const flags = known.flags === undefined ? 0 : Number(given[known.flags]!);
  if ((flags & ~(NO_FOLLOW | EMPTY_PATH)) !== 0) return EINVAL;
  const value = valueOf(asked, known);
  if (value === null) return EFAULT;
  const opened = openTarget(asked, known, flags);
  if (typeof opened !== "object") return opened;
  const { fd } = opened;
  try {
    // The name of what is open: nobody can put another file under it any more.
    const path = readlinkSync(`/proc/self/fd/${fd}`);
    const isOpen = writable.some((one) => path === one || path.startsWith(`${one}/`));
    if (!asked.isValid() || !isOpen) return EPERM;
    const empty = new Uint8Array(1);
    if (known.changes === "mode") {
      const mode = Number(value as bigint) & 0o7777;
      if ((mode & 0o6000) !== 0) return EPERM;
      return calls.call(COMMON_CALLS.fchmodat2, fd, empty, mode, EMPTY_PATH) < 0 ? EPERM : 0;
    }
    const times = value as Uint8Array | 0;
    return calls.call(calls.numbers.utimensat, fd, empty, times, EMPTY_PATH) < 0 ? EPERM : 0;
  } finally {
    close(calls, fd);
  }
}

/** The new mode, or the new times as the kernel reads them (0: now); null if they cannot be read. */
function valueOf(
  asked: Asked,
  { changes, value, unit }: AttributeCall,
): bigint | Uint8Array | 0 | null {
  const given = asked.given[value]!;
  if (changes === "mode") return given;
  if (given === 0n) return 0;
  const bytes = readMemory(asked, given, unit === "seconds" ? 16 : 32);
  if (bytes === null || unit === "nanoseconds") return bytes;
  const view = new DataView(bytes.buffer);
  const times = [0, 1].map((at) =>
    unit === "seconds"
      ? [view.getBigInt64(at * 8, true), 0n]
      : [view.getBigInt64(at * 16, true), view.getBigInt64(at * 16 + 8, true) * 1_000n]
  );
  return new Uint8Array(new BigInt64Array(times.flat()).buffer);
}

const AT_CWD = -100;
const NO_FOLLOW = 0x100;
const EMPTY_PATH = 0x1000;
const ONLY_PATH = 0o10000000;
const CLOSE_ON_EXEC = 0o2000000;
const NO_LINK = 0o400000;
const PAGE = 4_096n;

/** Opens the file that the call is about; the number of an error if that fails. */
function openTarget(
  asked: Asked,
  known: AttributeCall,
  flags: number,
): { fd: number } | number {
  const { tid, given, calls } = asked;
  const number = known.fd === undefined ? AT_CWD : Number(BigInt.asIntN(32, given[known.fd]!));
  const base = `/proc/${tid}/${number === AT_CWD ? "cwd" : `fd/${number}`}`;
  const address = known.path === undefined ? 0n : given[known.path]!;
  const path = address === 0n ? null : readText(asked, address);
  if (address !== 0n && path === null) return EFAULT;
  if (path === null || (path === "" && (flags & EMPTY_PATH) !== 0)) {
    return number < 0 && number !== AT_CWD ? EBADF : openAt(calls, AT_CWD, base, 0, EBADF);
  }
  const follows = (flags & NO_FOLLOW) !== 0 ? NO_LINK : 0;
  if (path.startsWith("/")) {
    const own = path.replace(/^\/proc\/(thread-)?self(?=\/)|^\/dev(?=\/fd\/)/, `/proc/${tid}`);
    return openAt(calls, AT_CWD, own, follows, ENOENT);
  }
  const folder = openAt(calls, AT_CWD, base, 0, EBADF);
  if (typeof folder !== "object") return folder;
  try {
    return openAt(calls, folder.fd, path, follows, ENOENT);
  } finally {
    close(calls, folder.fd);
  }
}

function openAt(
  { numbers, call }: SystemCalls,
  folder: number,
  path: string,
  flags: number,
  error: number,
): { fd: number } | number {
  const text = new TextEncoder().encode(`${path}\0`);
  const fd = call(numbers.openat, folder, text, ONLY_PATH | CLOSE_ON_EXEC | flags, 0);
  return fd < 0 ? error : { fd };
}

function close({ call }: SystemCalls, fd: number): void {
  call(COMMON_CALLS.close_range, fd, fd, 0);
}

const MOST_PATH = 4_096;

/** A text in the memory of the command; null if it cannot be read or is no text. */
function readText(asked: Asked, address: bigint): string | null {
  const bytes: number[] = [];
  for (let at = address; bytes.length < MOST_PATH;) {
    // The next page may not be there.
    const part = readMemory(asked, at, Number(PAGE - at % PAGE));
    if (part === null) return null;
    const end = part.indexOf(0);
    bytes.push(...end < 0 ? part : part.subarray(0, end));
    if (end >= 0) return decode(Uint8Array.from(bytes));
    at += BigInt(part.length);
  }
  return null;
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function readMemory({ calls, tid }: Asked, address: bigint, length: number): Uint8Array | null {
  const opened = openMemory(calls, tid);
  if (opened < 0) return null;
  const bytes = new Uint8Array(length);
  const count = calls.call(calls.numbers.pread64, opened, bytes, length, address);
  close(calls, opened);
  return count === length ? bytes : null;
}

function openMemory({ numbers, call }: SystemCalls, tid: number): number {
  const path = new TextEncoder().encode(`/proc/${tid}/mem\0`);
  return call(numbers.openat, AT_CWD, path, CLOSE_ON_EXEC, 0);
}
