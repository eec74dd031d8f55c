import { connectUnix, HAS_OWN_SOCKETS, type UnixSocket } from "./unix_socket.ts";

/** One request to the daemon over its socket, as `gate hook` and `gate prompt` send it. */
export interface WireRequest {
  socket: string;
  method: "GET" | "POST";
  target: string;
  token: string;
  /** JSON text. */
  body?: string;
  timeout_ms: number;
}

export interface WireAnswer {
  status: number;
  /** By their names in lower case. */
  headers: Map<string, string>;
  body: string;
}

/** The daemon accepts the connection but sends no answer in time. */
export class SilentError extends Error {
  constructor() {
    super("the daemon does not answer");
    this.name = "SilentError";
  }
}

/** No process listens on the socket. */
export class NobodyError extends Error {
  constructor(cause: unknown) {
    super("the daemon does not run", { cause });
    this.name = "NobodyError";
  }
}

/** The longest path that every system accepts for a unix socket. */
const LONGEST_SOCKET = 100;
/** The daemon never sends a longer answer. */
const MAX_ANSWER = 4 * 1024 * 1024;
/** A longer head is parsed only when the connection has ended. */
const LONGEST_HEAD = 64 * 1024;
/** The daemon closes a connection with this status when it stayed open without a request. */
export const TOO_LATE = 408;
const NOBODY = new Set(["ENOENT", "ECONNREFUSED"]);

/** The path of the daemon's unix socket; null where it would be too long for one. */
export function socketIn(home: string): string | null {
  const path = `${home}/run/gate.sock`;
  return new TextEncoder().encode(path).length <= LONGEST_SOCKET ? path : null;
}

/** A connection that was opened before its request was known. */
export type Dialled = Wire;

/** Begins to connect while the caller still loads code; null on runtimes other than Bun. */
export function dial(socket: string): Dialled | null {
  return HAS_OWN_SOCKETS ? new Wire(socket) : null;
}

/**
 * The daemon's answer, over `dialled` if that is still unused. It loads no module where Bun's own
 * sockets exist: `node:net` alone would double the start time of the executable.
 * @throws NobodyError, SilentError, or Error for an answer that is not HTTP
 */
export async function ask(
  request: WireRequest,
  dialled: Dialled | null = null,
): Promise<WireAnswer> {
  try {
    const isUsed = dialled?.isFresh && dialled.path === request.socket;
    const answer = isUsed ? await dialled.ask(request) : null;
    if (answer && answer.status !== TOO_LATE) return answer;
    return await new Wire(request.socket).ask(request);
  } catch (error) {
    throw NOBODY.has((error as { code?: string }).code ?? "") ? new NobodyError(error) : error;
  }
}

/** One connection to a unix socket for one request. */
class Wire {
  readonly path: string;
  /** Settles once the daemon has accepted the connection, or nobody listens. */
  readonly opened: Promise<unknown>;
  readonly #socket: Promise<UnixSocket>;
  readonly #pieces: Uint8Array[] = [];
  #length = 0;
  #head: Head | null = null;
  #unsent: Uint8Array = new Uint8Array();
  /** Null while it is open. */
  #ended: { error: Error | null } | null = null;
  #onEnd: () => void = () => {};

  /** Begins to connect; `ask` reports a failure. */
  constructor(path: string) {
    this.path = path;
    this.#socket = connectUnix({
      unix: path,
      socket: {
        data: (_socket, piece) => this.#take(piece),
        drain: (socket) => this.#send(socket),
        close: () => this.#end(null),
        error: (_socket, error) => this.#end(error),
      },
    });
    this.opened = this.#socket.catch(() => {});
  }

  /** True while it is open and has received nothing. */
  get isFresh(): boolean {
    return this.#ended === null && this.#length === 0;
  }

  /** The answer to the one request of this connection. @throws SilentError, Error */
  async ask(request: WireRequest): Promise<WireAnswer> {
    const timer = setTimeout(() => this.#end(new SilentError()), request.timeout_ms);
    this.#unsent = requestBytes(request);
    this.#socket.then((socket) => this.#send(socket), (error) => this.#end(error));
    await new Promise<void>((resolve) => this.#ended ? resolve() : this.#onEnd = resolve);
    clearTimeout(timer);
    this.#socket.then((socket) => socket.terminate(), () => {});
    if (this.#ended?.error) throw this.#ended.error;
    const bytes = Buffer.concat(this.#pieces);
    return answerOf(bytes, this.#head ?? parseHead(bytes));
  }

  /** Writes as much as the socket takes now; `drain` sends the rest. */
  #send(socket: UnixSocket): void {
    if (this.#unsent.length === 0) return;
    const sent = socket.write(this.#unsent);
    if (sent > 0) this.#unsent = this.#unsent.subarray(sent);
  }

  #take(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length > MAX_ANSWER) return this.#end(tooLong());
    this.#pieces.push(piece.slice()); // Bun reuses its buffer
    if (this.#length <= LONGEST_HEAD) this.#head ??= parseHead(Buffer.concat(this.#pieces));
    // The daemon closes the connection later, because it may wait for a processor until then.
    if (this.#head && this.#length >= this.#head.length) this.#end(null);
  }

  #end(error: Error | null): void {
    this.#ended ??= { error };
    this.#onEnd();
  }
}

function tooLong(): Error {
  return new Error("the daemon's answer is too long");
}

/**
 * The answer in the bytes that a connection has given so far; null if it is not complete.
 * @throws Error for what is not HTTP, too long or cut off
 */
export function readAnswer(bytes: Buffer, is_ended: boolean): WireAnswer | null {
  if (bytes.length > MAX_ANSWER) throw tooLong();
  const head = parseHead(bytes);
  const isWhole = is_ended || (head !== null && bytes.length >= head.length);
  return isWhole ? answerOf(bytes, head) : null;
}

function answerOf(bytes: Buffer, head: Head | null): WireAnswer {
  if (!head || !Number.isInteger(head.status)) throw new Error("the daemon's answer is not HTTP");
  const { status, headers, body_at } = head;
  return { status, headers, body: bodyOf(bytes.subarray(body_at), headers).toString("utf8") };
}

/** The request in HTTP/1.1; the daemon closes the connection after its answer. */
export function requestBytes(
  { method, target, token, body }: Omit<WireRequest, "socket" | "timeout_ms">,
): Uint8Array {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${token}`,
    "Connection: close",
  ];
  if (body !== undefined) {
    lines.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`);
  }
  return new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

interface Head {
  /** NaN if the answer is not HTTP. */
  status: number;
  headers: Map<string, string>;
  /** Where the body begins. */
  body_at: number;
  /** Where the answer ends; infinite if only the end of the connection tells. */
  length: number;
}

/** The head in the first bytes of an answer; null if it is not complete. */
function parseHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
  const headers = new Map(lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  }));
  const announced = headers.has("transfer-encoding") ? undefined : headers.get("content-length");
  const length = end + 4 + Number(announced ?? Infinity);
  return { status, headers, body_at: end + 4, length };
}

function bodyOf(rest: Buffer, headers: Map<string, string>): Buffer {
  if (headers.get("transfer-encoding")?.toLowerCase() === "chunked") return joinChunks(rest);
  const announced = headers.get("content-length");
  if (announced !== undefined && Number(announced) !== rest.length) {
    throw new Error("the daemon's answer was cut off");
  }
  return rest;
}

function joinChunks(rest: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0;;) {
    const end = rest.indexOf("\r\n", at);
    const size = /^[0-9a-f]{1,8}/i.exec(rest.subarray(at, Math.max(end, at)).toString("latin1"));
    if (end < 0 || !size) throw new Error("the daemon's answer was cut off");
    const length = parseInt(size[0], 16);
    if (length === 0) return Buffer.concat(pieces);
    if (end + 2 + length > rest.length) throw new Error("the daemon's answer was cut off");
    pieces.push(rest.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}
