import type { IncomingMessage, ServerResponse } from "node:http";
import { GateError } from "../errors.ts";

export interface ResponseLimits {
  /** A client that takes no bytes for this long is disconnected. */
  write_ms: number;
  /** How many bytes of an unread body are discarded before the connection is closed. */
  drain_bytes: number;
}

/** Shows when a client disconnects. The signal is created on demand because it is expensive. */
export class ClientPresence {
  #gone = false;
  #controller: AbortController | null = null;

  constructor(request: IncomingMessage, response: ServerResponse) {
    const leave = () => this.#leave();
    request.on("error", leave);
    response.on("error", leave);
    response.on("close", () => response.writableFinished || this.#leave());
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#gone) this.#controller.abort();
    return this.#controller.signal;
  }

  #leave(): void {
    this.#gone = true;
    this.#controller?.abort();
  }
}

/** Limits the bytes of large bodies that all requests hold together. */
export class BodyBudget {
  readonly bytes: number;
  #left: number;

  constructor(bytes: number) {
    this.bytes = bytes;
    this.#left = bytes;
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}

/** Smaller bodies are not counted, so that a flood of large ones does not block them. */
const SMALL_BODY = 64 * 1024;

/** Reads the body of one request and counts its bytes. */
export class BodyReader {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #budget: BodyBudget;
  #counted = 0;

  constructor(request: IncomingMessage, response: ServerResponse, budget: BodyBudget) {
    this.#request = request;
    this.#response = response;
    this.#budget = budget;
  }

  /**
   * The whole body. @throws GateError `too_large`, `unavailable` when all bodies together are too
   * large, `timeout` when the client disconnects first
   */
  read(limit: number): Promise<Uint8Array<ArrayBuffer>> {
    const request = this.#request;
    if (isExpecting(request)) this.#response.writeContinue();
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let size = 0;
      const fail = (error: GateError) => {
        request.removeAllListeners("data");
        chunks.length = 0;
        reject(error);
      };
      request.on("data", (chunk: Uint8Array) => {
        size += chunk.length;
        if (size > limit) fail(tooLarge(limit));
        else if (!this.#count(size, chunk.length)) fail(tooMuch(this.#budget));
        else chunks.push(chunk);
      });
      let isWhole = false;
      request.on("end", () => {
        isWhole = true;
        resolve(Buffer.concat(chunks, size));
      });
      const gone = () => {
        if (!isWhole) fail(tooEarly());
      };
      request.on("error", gone);
      request.on("close", gone);
    });
  }

  /** Ends the count of this body when its request has ended. */
  release(): void {
    this.#budget.give(this.#counted);
    this.#counted = 0;
  }

  #count(size: number, more: number): boolean {
    if (size <= SMALL_BODY) return true;
    if (!this.#budget.take(more)) return false;
    this.#counted += more;
    return true;
  }
}

/** `request.headers` would first sort all lines into an object. */
function isExpecting({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.some((name, at) => at % 2 === 0 && name.toLowerCase() === "expect");
}

function tooEarly(): GateError {
  const message = "Cannot read the body: the connection ended before it was complete";
  return new GateError("timeout", message);
}

function tooMuch({ bytes }: BodyBudget): GateError {
  const size = `${Math.ceil(bytes / 1024 / 1024)} MiB`;
  return new GateError(
    "unavailable",
    `Cannot read the body: the daemon is already receiving ${size} of bodies; ` +
      "send the request again in a few seconds",
  );
}

/** The error for a body longer than `limit` bytes. */
export function tooLarge(limit: number): GateError {
  return new GateError("too_large", `Cannot read the body: it is over ${limit} bytes; send less`);
}

/**
 * Discards the unread rest of a body, up to a limit, and closes the connection after the answer: the
 * client then reads that answer and sees no reset.
 */
export async function rejectRest(
  request: IncomingMessage,
  response: ServerResponse,
  limits: ResponseLimits,
): Promise<void> {
  if (request.complete) return;
  response.setHeader("connection", "close");
  let rest = 0;
  request.on("data", (chunk: Uint8Array) => {
    rest += chunk.length;
    if (rest > limits.drain_bytes) request.socket.destroy();
  });
  response.on("finish", () => {
    const cut = setTimeout(() => request.socket?.destroy(), 1_000);
    request.on("close", () => clearTimeout(cut));
  });
  // A unix socket that is closed with unread bytes loses the answer.
  const { expect, "content-length": length } = request.headers;
  if (expect === undefined && Number(length) <= SMALL_REST) await ended(request, REST_MS);
}

/** A body sent together with its headers arrives within this time. */
const REST_MS = 50;
const SMALL_REST = 64 * 1024;

function ended(request: IncomingMessage, limit_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limit_ms);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    request.once("end", stop).once("close", stop);
  });
}

/** Sends the answer; a stream is sent as fast as the client takes it. */
export async function writeResponse(
  response: ServerResponse,
  answer: Response,
  client: { readonly signal: AbortSignal },
  limits: ResponseLimits,
): Promise<void> {
  try {
    response.statusCode = answer.status;
    for (const [name, value] of answer.headers) response.setHeader(name, value);
    if (isStream(answer)) {
      response.flushHeaders();
      await pump(response, answer.body!, client.signal, limits);
    } else if (!answer.body) {
      response.end();
    } else {
      // Node sends a string together with the headers, but bytes in a packet of their own.
      const content = isText(answer)
        ? await answer.text()
        : new Uint8Array(await answer.arrayBuffer());
      response.setHeader("content-length", Buffer.byteLength(content));
      response.end(content);
      if (response.writableLength > 0) cutUnlessTaken(response, limits.write_ms);
    }
  } catch {
    // The headers may be sent: closing is the only way to show that the answer is incomplete.
    cutOff(response);
  }
}

/** Closes the connection without any further byte. */
export function cutOff(response: ServerResponse): void {
  // Bun answers `200 OK` when a response is destroyed before its headers are sent.
  response.socket?.destroy();
  response.destroy();
}

function cutUnlessTaken(response: ServerResponse, write_ms: number): void {
  const cut = setTimeout(() => cutOff(response), write_ms);
  response.on("close", () => clearTimeout(cut));
}

const TEXT = /^(?:text\/|application\/(?:problem\+)?json)/;

function isText(answer: Response): boolean {
  return TEXT.test(answer.headers.get("content-type") ?? "") &&
    !answer.headers.has("content-encoding");
}

function isStream(answer: Response): boolean {
  if (!answer.body) return false;
  return answer.headers.has("content-disposition") ||
    answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

async function pump(
  response: ServerResponse,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  limits: ResponseLimits,
): Promise<void> {
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (signal.aborted) return;
      if (!response.write(next.value)) await drained(response, limits.write_ms);
    }
    response.end();
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

function drained(response: ServerResponse, write_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => cutOff(response), write_ms);
    const done = () => {
      clearTimeout(cut);
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
