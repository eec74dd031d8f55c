import { parseToken, problemOf, type TokenFile } from "./quick_files.ts";

const STDIN = 0;
const STDOUT = 1;
/** Memory that is not used is never fetched from the system, so the size costs nothing. */
const PIECE = 64 * 1024;
/** A token file is shorter. */
const LONGEST_TOKEN = 1024;

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const NONBLOCK = 0x800;
const CLOEXEC = 0x80000;
const O_NOFOLLOW: Record<string, number> = { x64: 0o400000, arm64: 0o100000 };
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** The folder of a path that begins at the root is not looked at. */
const ANY_FOLDER = 0;
const AT_EMPTY_PATH = 0x1000;
const STATX_BASIC = 0x7ff;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const POLLIN = 1;

/** The C library of glibc, and those of musl. */
export const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** The numbers of the system calls, by processor. */
const NUMBERS: Record<string, Record<Call, number>> = {
  x64: {
    ...{ read: 0, write: 1, close: 3, socket: 41, connect: 42, sendto: 44 },
    ...{ openat: 257, ppoll: 271, statx: 332 },
  },
  arm64: {
    ...{ openat: 56, close: 57, read: 63, write: 64, ppoll: 73 },
    ...{ socket: 198, connect: 203, sendto: 206, statx: 291 },
  },
};
type Call =
  | "read"
  | "write"
  | "close"
  | "socket"
  | "connect"
  | "sendto"
  | "openat"
  | "ppoll"
  | "statx";

/** The function of the C library that makes any system call. Bun takes 0.15 ms to bind each one. */
const FUNCTION = { syscall: { args: ["usize", ...Array(5).fill("ptr")], returns: "i32" } };

/** Makes a system call with up to five arguments. Returns -1 when it fails. */
type SystemCall = (name: Call, ...args: (number | Uint8Array)[]) => number;

const { process } = globalThis as unknown as {
  process: { arch: string; platform: string; getuid?: () => number };
};

let opened: QuickCalls | null = null;

/**
 * Files and sockets by system calls of the thread that runs, for a program that answers once. Bun's
 * own functions start four threads for the first file, which takes longer than the rest of a hook.
 * A call that fails gives no reason: the caller then takes the usual way, which names it.
 */
export class QuickCalls {
  readonly #call: SystemCall;
  readonly #buffer = new Uint8Array(PIECE);

  /** Null on other systems than Linux, and on runtimes that keep descriptors of their own. */
  static async open(): Promise<QuickCalls | null> {
    const call = await openLibrary();
    opened = call && new QuickCalls(call);
    return opened;
  }

  private constructor(call: SystemCall) {
    this.#call = call;
  }

  /** The token of a scope, unless other users could read its file or it is a link. */
  readToken(folder: string, scope: string): TokenFile {
    const own = process.getuid!();
    const flags = CLOEXEC | NONBLOCK | O_NOFOLLOW[process.arch]!;
    const file = this.#call("openat", ANY_FOLDER, pathBytes(`${folder}/${scope}`), flags);
    if (file < 0) return { problem: "missing" };
    try {
      const stats = new Uint8Array(256);
      if (this.#call("statx", file, pathBytes(""), AT_EMPTY_PATH, STATX_BASIC, stats) < 0) {
        return { problem: "missing" };
      }
      const view = new DataView(stats.buffer);
      const mode = view.getUint16(28, true);
      const isFile = () => (mode & S_IFMT) === S_IFREG;
      const problem = problemOf({ mode, uid: view.getUint32(20, true), isFile }, own);
      if (problem) return problem;
      const text = new Uint8Array(LONGEST_TOKEN);
      const length = this.#call("read", file, text, text.length);
      return parseToken(new TextDecoder().decode(text.subarray(0, Math.max(0, length))));
    } finally {
      this.close(file);
    }
  }

  /**
   * The standard input, up to its end, to `most` bytes, or to the first pause of `patience_ms`.
   * Without `is_whole` the rest is still to be read.
   */
  readInput(
    { most, patience_ms }: { most: number; patience_ms: number },
  ): { pieces: Uint8Array[]; is_whole: boolean } {
    const pieces: Uint8Array[] = [];
    for (let length = 0; length <= most;) {
      const piece = this.#read(STDIN, patience_ms);
      if (!(piece instanceof Uint8Array)) break;
      if (piece.length === 0) return { pieces, is_whole: true };
      pieces.push(piece);
      length += piece.length;
    }
    return { pieces, is_whole: false };
  }

  /** Connects to a unix socket at once; null if nobody listens or the queue is full. */
  connect(path: string): number | null {
    const name = pathBytes(path);
    const address = new Uint8Array(2 + name.length);
    address[0] = AF_UNIX;
    address.set(name, 2);
    const socket = this.#call("socket", AF_UNIX, SOCK_STREAM | NONBLOCK | CLOEXEC);
    if (socket < 0) return null;
    if (this.#call("connect", socket, address, address.length) === 0) return socket;
    this.close(socket);
    return null;
  }

  /** Whether the socket took all bytes at once. */
  send(socket: number, bytes: Uint8Array): boolean {
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    return this.#call("sendto", socket, bytes, bytes.length, flags) === bytes.length;
  }

  /**
   * The next bytes of a socket within `wait_ms`: none at its end, null when nothing came.
   * @throws Error when the connection is lost
   */
  receive(socket: number, wait_ms: number): Uint8Array | null {
    const piece = this.#read(socket, wait_ms);
    if (piece === "failed") throw new Error("the connection to the daemon is lost");
    return piece;
  }

  #read(descriptor: number, wait_ms: number): Uint8Array | null | "failed" {
    const entry = new DataView(new ArrayBuffer(8));
    entry.setInt32(0, descriptor, true);
    entry.setInt16(4, POLLIN, true);
    if (this.#call("ppoll", bytesOf(entry), 1, timeOf(wait_ms)) <= 0) return null;
    const length = this.#call("read", descriptor, this.#buffer, PIECE);
    return length < 0 ? "failed" : this.#buffer.slice(0, length);
  }

  /** Writes to the standard output. Returns what could not be written. */
  print(bytes: Uint8Array): Uint8Array {
    let rest = bytes;
    while (rest.length > 0) {
      const written = this.#call("write", STDOUT, rest, rest.length);
      if (written <= 0) break;
      rest = rest.subarray(written);
    }
    return rest;
  }

  close(descriptor: number): void {
    this.#call("close", descriptor);
  }
}

interface BunFfi {
  dlopen(library: string, functions: unknown): {
    symbols: { syscall(number: number, ...args: (number | Uint8Array)[]): number };
  };
}

async function openLibrary(): Promise<SystemCall | null> {
  const numbers = process.platform === "linux" ? NUMBERS[process.arch] : undefined;
  if (!("Bun" in globalThis) || !numbers) return null;
  // Other runtimes look for such an import before they run.
  const name = "bun:ffi";
  const { dlopen } = await import(name) as BunFfi;
  for (const library of LIBRARIES) {
    try {
      const { syscall } = dlopen(library, FUNCTION).symbols;
      return (name, a, b = 0, c = 0, d = 0, e = 0) => syscall(numbers[name], a!, b, c, d, e);
    } catch {
      // The system has another library.
    }
  }
  return null;
}

/** The calls, once they are open. */
export function openedCalls(): QuickCalls | null {
  return opened;
}

function bytesOf({ buffer }: DataView): Uint8Array {
  return new Uint8Array(buffer);
}

/** The `timespec` of a time. */
function timeOf(ms: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(16));
  view.setUint32(0, Math.floor(ms / 1000), true);
  view.setUint32(8, (ms % 1000) * 1_000_000, true);
  return bytesOf(view);
}

function pathBytes(path: string): Uint8Array {
  return new TextEncoder().encode(`${path}\0`);
}
