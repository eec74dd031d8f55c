import { connectUnix, type UnixSocket } from "./unix_socket.ts";

/** A POST of JSON. */
export interface KeptRequest {
  target: string;
  headers: Iterable<[name: string, value: string]>;
  body: string;
  signal?: AbortSignal | null;
}

const HEAD_END = "\r\n\r\n";
/** The daemon's heads are far shorter. */
const MAX_HEAD = 64 * 1024;
/** Further connections are closed after their answer. */
const MOST_KEPT = 64;
const NO_BODY = new Set([204, 304]);

/**
 * Sends POST requests over connections to a unix socket that stay open. It knows only the answers
 * that the daemon gives to them: a head and a body of a known length. `node:http` takes half a
 * millisecond for each.
 */
export class KeptConnections {
  readonly #path: string;
  readonly #idle: Connection[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** The answer. @throws Error when the connection ends first, or for an answer that is not HTTP */
  async post(request: KeptRequest): Promise<Response> {
    request.signal?.throwIfAborted();
    const connection = this.#take() ?? await Connection.open(this.#path);
    const { status, headers, body, is_last } = await connection.ask(request);
    if (is_last || this.#idle.length >= MOST_KEPT) connection.close();
    else this.#idle.push(connection.rest());
    const answer = new Response(NO_BODY.has(status) ? null : body, { status, headers });
    // The runtime's own method reads a stream, which takes longer than the rest of the request.
    answer.json = () =>
      new Promise((resolve) => resolve(JSON.parse(new TextDecoder().decode(body))));
    return answer;
  }

  #take(): Connection | null {
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      if (last.isOpen) return last;
    }
    return null;
  }
}

interface Answer {
  status: number;
  headers: [string, string][];
  body: Uint8Array<ArrayBuffer>;
  /** The daemon closes the connection after it. */
  is_last: boolean;
}

interface Head extends Omit<Answer, "body"> {
  length: number;
}

class Connection {
  #socket: UnixSocket | null = null;
  #unsent: Uint8Array = new Uint8Array();
  #received: Uint8Array = new Uint8Array();
  #head: Head | null = null;
  #waiting: { resolve: (answer: Answer) => void; reject: (error: unknown) => void } | null = null;
  /** Null while it is open. */
  #ended: { error: unknown } | null = null;

  static async open(path: string): Promise<Connection> {
    const connection = new Connection();
    connection.#socket = await connectUnix({
      unix: path,
      socket: {
        data: (_socket, piece) => connection.#take(piece),
        drain: () => connection.#send(),
        close: () => connection.#end(new Error("The connection ended before the answer")),
        error: (_socket, error) => connection.#end(error),
      },
    });
    return connection;
  }

  get isOpen(): boolean {
    return this.#ended === null;
  }

  /** While it rests, it does not keep the process alive. */
  rest(): this {
    this.#socket?.unref();
    return this;
  }

  /** One request at a time. */
  async ask(request: KeptRequest): Promise<Answer> {
    const { signal } = request;
    const giveUp = () => this.#end(signal?.reason);
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      return await new Promise<Answer>((resolve, reject) => {
        if (signal?.aborted) this.#end(signal.reason);
        if (this.#ended) return reject(this.#ended.error);
        this.#socket?.ref();
        this.#waiting = { resolve, reject };
        this.#unsent = bytesOf(request);
        this.#send();
      });
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  close(): void {
    this.#end(new Error("The connection is closed"));
  }

  /** Writes as much as the socket takes now; `drain` sends the rest. */
  #send(): void {
    if (this.#unsent.length === 0 || !this.#socket) return;
    const sent = this.#socket.write(this.#unsent);
    if (sent > 0) this.#unsent = this.#unsent.subarray(sent);
  }

  #take(piece: Uint8Array): void {
    // Bun reuses the memory of a piece.
    this.#received = this.#received.length === 0
      ? piece.slice()
      : Buffer.concat([this.#received, piece]);
    try {
      this.#answer();
    } catch (error) {
      this.#end(error);
    }
  }

  #answer(): void {
    this.#head ??= this.#takeHead();
    if (!this.#head || this.#received.length < this.#head.length) return;
    const { length, ...head } = this.#head;
    const body = new Uint8Array(this.#received.subarray(0, length));
    const waiting = this.#waiting;
    // Bytes that nobody asked for make the next answer uncertain.
    if (!waiting || this.#received.length > length) throw new Error("The answer is too long");
    this.#received = new Uint8Array();
    this.#head = null;
    this.#waiting = null;
    waiting.resolve({ ...head, body });
  }

  #takeHead(): Head | null {
    const bytes = Buffer.from(
      this.#received.buffer,
      this.#received.byteOffset,
      this.#received.length,
    );
    const end = bytes.indexOf(HEAD_END);
    if (end < 0 && bytes.length <= MAX_HEAD) return null;
    const head = parseHead(bytes.toString("latin1", 0, Math.max(end, 0)));
    this.#received = this.#received.subarray(end + HEAD_END.length);
    return head;
  }

  #end(error: unknown): void {
    if (this.#ended) return;
    this.#ended = { error };
    this.#socket?.terminate();
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}

function bytesOf({ target, headers, body }: KeptRequest): Uint8Array {
  const lines = [`POST ${target} HTTP/1.1`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}${HEAD_END}${body}`);
}

/** @throws Error for a head that is not HTTP/1.1, or that tells no length */
function parseHead(text: string): Head {
  const [first = "", ...lines] = text.split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const of = (name: string) => headers.find(([known]) => known === name)?.[1];
  const length = NO_BODY.has(status) ? 0 : Number(of("content-length") ?? NaN);
  if (!Number.isInteger(status) || !Number.isSafeInteger(length) || length < 0) {
    throw new Error("The answer is not one of the daemon");
  }
  return { status, headers, length, is_last: of("connection")?.toLowerCase() === "close" };
}
