import { Buffer } from "node:buffer";
import { hasNoBody, isEventStream } from "../http.ts";

/** The answer to one raced request. `status` is null until the final head arrives. */
export interface RawAnswer {
  status: number | null;
  headers: [string, string][];
  body: Buffer;
  /** All of it has arrived. */
  complete: boolean;
  /** Statuses of the interim (1xx) answers before it. */
  interim: number[];
}

/** The most bytes of a body that are kept. */
const BODY_BYTES = 256 * 1024;
const HEAD_BYTES = 64 * 1024;
/** The most interim statuses that are kept. */
const INTERIM = 10;

/** Parses one HTTP/1.1 answer from raw bytes and skips interim (1xx) answers. */
export class ResponseParser {
  readonly #method: string;
  #bytes: Buffer = Buffer.alloc(0);
  #head: { status: number; headers: [string, string][] } | null = null;
  readonly #interim: number[] = [];

  constructor(method: string) {
    this.#method = method;
  }

  /** Adds bytes. @throws Error when they are not an HTTP/1.1 answer */
  push(chunk: Buffer): void {
    if (this.#bytes.length > BODY_BYTES) return;
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (!this.#head) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      if (end === -1 && this.#bytes.length > HEAD_BYTES) {
        throw new Error("the answer breaks HTTP: its headers are larger than 64 KiB");
      }
      if (end === -1) return;
      const head = parseHead(this.#bytes.subarray(0, end).toString("latin1"));
      this.#bytes = this.#bytes.subarray(end + 4);
      if (head.status >= 200 || head.status === 101) this.#head = head;
      else if (this.#interim.length < INTERIM) this.#interim.push(head.status);
    }
  }

  /** The answer so far. `closed`: the peer closed the connection. */
  answer(closed = false): RawAnswer {
    const interim = [...this.#interim];
    if (!this.#head) {
      return { status: null, headers: [], body: Buffer.alloc(0), complete: false, interim };
    }
    const { body, complete } = this.#body(this.#head, closed);
    return { ...this.#head, body, complete, interim };
  }

  /** The bytes after a complete answer, where the next answer on the connection begins. */
  rest(): Buffer {
    return this.#head ? this.#bytes.subarray(this.#body(this.#head, false).end) : this.#bytes;
  }

  #body(head: { status: number; headers: [string, string][] }, closed: boolean): Body {
    const isStream = isEventStream(valueOf(head.headers, "content-type"));
    if (isStream || hasNoBody(this.#method, head.status)) {
      return { body: Buffer.alloc(0), complete: true, end: 0 };
    }
    const isChunked = /chunked/i.test(valueOf(head.headers, "transfer-encoding") ?? "");
    if (isChunked) return dechunk(this.#bytes);
    const length = valueOf(head.headers, "content-length");
    if (length === null) return { body: this.#bytes, complete: closed, end: this.#bytes.length };
    const end = Number(length);
    return { body: this.#bytes.subarray(0, end), complete: this.#bytes.length >= end, end };
  }
}

/** The body so far, and where it ends. */
interface Body {
  body: Buffer;
  complete: boolean;
  end: number;
}

function parseHead(text: string): { status: number; headers: [string, string][] } {
  const [first = "", ...rest] = text.split("\r\n");
  const match = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first);
  if (!match) throw new Error("the answer is not HTTP/1.1");
  const headers = rest.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return { status: Number(match[1]), headers };
}

function valueOf(headers: [string, string][], name: string): string | null {
  return headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? null;
}

function dechunk(bytes: Buffer): Body {
  const parts: Buffer[] = [];
  let at = 0;
  while (true) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) break;
    const size = parseInt(bytes.subarray(at, lineEnd).toString("latin1"), 16);
    if (!Number.isFinite(size)) break;
    if (size === 0) {
      // Trailers may follow the last chunk; an empty line ends the body.
      const end = bytes.indexOf("\r\n\r\n", lineEnd) + 4;
      return { body: Buffer.concat(parts), complete: end > 3, end };
    }
    const end = lineEnd + 2 + size;
    parts.push(bytes.subarray(lineEnd + 2, end));
    if (bytes.length < end + 2) break;
    at = end + 2;
  }
  return { body: Buffer.concat(parts), complete: false, end: bytes.length };
}
