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
const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const STATX_BASIC = 0x7ff;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const POLLIN = 1;

/** The C library of glibc, and those of musl. */
export const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** The functions of the C library, with the kinds of their arguments and of what they return. */
const [INT, SIZE, MEMORY] = ["i32", "usize", "ptr"] as const;
const FUNCTIONS = {
  socket: { args: [INT, INT, INT], returns: INT },
  connect: { args: [INT, MEMORY, INT], returns: INT },
  openat: { args: [INT, MEMORY, INT, INT], returns: INT },
  statx: { args: [INT, MEMORY, INT, INT, MEMORY], returns: INT },
  read: { args: [INT, MEMORY, SIZE], returns: INT },
  send: { args: [INT, MEMORY, SIZE, INT], returns: INT },
  write: { args: [INT, MEMORY, SIZE], returns: INT },
  poll: { args: [MEMORY, INT, INT], returns: INT },
  close: { args: [INT], returns: INT },
};

/** Each returns -1 when it fails. */
type Library = Record<keyof typeof FUNCTIONS, (...args: (number | Uint8Array)[]) => number>;

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
  readonly #library: Library;
  readonly #buffer = new Uint8Array(PIECE);

  /** Null on other systems than Linux, and on runtimes that keep descriptors of their own. */
  static async open(): Promise<QuickCalls | null> {
    const library = await openLibrary();
    opened = library && new QuickCalls(library);
    return opened;
  }

  private constructor(library: Library) {
    this.#library = library;
  }

  /** The token of a scope, unless other users could read its file or it is a link. */
  readToken(folder: string, scope: string): TokenFile {
    const own = process.getuid!();
    const { openat, statx, read } = this.#library;
    const flags = CLOEXEC | NONBLOCK | O_NOFOLLOW[process.arch]!;
    const file = openat(AT_FDCWD, pathBytes(`${folder}/${scope}`), flags, 0);
    if (file < 0) return { problem: "missing" };
    try {
      const stats = new Uint8Array(256);
      if (statx(file, pathBytes(""), AT_EMPTY_PATH, STATX_BASIC, stats) < 0) {
        return { problem: "missing" };
      }
      const view = new DataView(stats.buffer);
      const mode = view.getUint16(28, true);
      const isFile = () => (mode & S_IFMT) === S_IFREG;
      const problem = problemOf({ mode, uid: view.getUint32(20, true), isFile }, own);
      if (problem) return problem;
      const text = new Uint8Array(LONGEST_TOKEN);
      const length = read(file, text, text.length);
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
    const socket = this.#library.socket(AF_UNIX, SOCK_STREAM | NONBLOCK | CLOEXEC, 0);
    if (socket < 0) return null;
    if (this.#library.connect(socket, address, address.length) === 0) return socket;
    this.close(socket);
    return null;
  }

  /** Whether the socket took all bytes at once. */
  send(socket: number, bytes: Uint8Array): boolean {
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    return this.#library.send(socket, bytes, bytes.length, flags) === bytes.length;
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
    const { poll, read } = this.#library;
    const entry = new DataView(new ArrayBuffer(8));
    entry.setInt32(0, descriptor, true);
    entry.setInt16(4, POLLIN, true);
    if (poll(new Uint8Array(entry.buffer), 1, wait_ms) <= 0) return null;
    const length = read(descriptor, this.#buffer, PIECE);
    return length < 0 ? "failed" : this.#buffer.slice(0, length);
  }

  /** Writes to the standard output. Returns what could not be written. */
  print(bytes: Uint8Array): Uint8Array {
    let rest = bytes;
    while (rest.length > 0) {
      const written = this.#library.write(STDOUT, rest, rest.length);
      if (written <= 0) break;
      rest = rest.subarray(written);
    }
    return rest;
  }

  close(descriptor: number): void {
    this.#library.close(descriptor);
  }
}

interface BunFfi {
  dlopen(library: string, functions: unknown): { symbols: Library };
}

async function openLibrary(): Promise<Library | null> {
  const isKnown = process.platform === "linux" && process.arch in O_NOFOLLOW;
  if (!("Bun" in globalThis) || !isKnown) return null;
  // Other runtimes look for such an import before they run.
  const name = "bun:ffi";
  const { dlopen } = await import(name) as BunFfi;
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, FUNCTIONS).symbols;
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

function pathBytes(path: string): Uint8Array {
  return new TextEncoder().encode(`${path}\0`);
}
