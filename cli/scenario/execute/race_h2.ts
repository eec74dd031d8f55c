import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import type { Socket } from "node:net";
import { encodeFrame, FLAG, FRAME, type Frame, FrameReader, headerBlock } from "./h2_frames.ts";
import { PREFACE, settingsFrame, windowFrame } from "./h2_frames.ts";
import { decodeStatus, encodeHeaders } from "./hpack.ts";
import { type HttpRequest, wireHeaders } from "./http.ts";
import type { Race, RaceShot } from "./race.ts";
import { requestPath, type Target } from "./target.ts";

const SETTLE_MS = 100;
const DATA_BYTES = 16_384;

/**
 * The single-packet volley: all requests lie open on one HTTP/2 connection with everything sent but
 * their last DATA frame; a PING shows that the server has taken them; then the last frames of all of
 * them leave in one write.
 */
export async function raceOverHttp2(
  socket: Socket,
  target: Target,
  request: HttpRequest,
  count: number,
  timeout: number,
): Promise<Race> {
  const volley = new Volley(socket, count);
  const { opening, last } = framesOf(target, request, count);
  socket.write(Buffer.concat([PREFACE, settingsFrame(), windowFrame(), ...opening]));
  await pause(SETTLE_MS);
  await volley.ping(timeout);
  const released = performance.now();
  if (!volley.error) socket.write(Buffer.concat(last));
  const spread_us = Math.round((performance.now() - released) * 1_000);
  await volley.finished(timeout);
  return volley.result(released, spread_us);
}

function framesOf(target: Target, request: HttpRequest, count: number) {
  const block = encodeHeaders(fieldsOf(target, request));
  const body = Buffer.from(request.body ?? "", "utf8");
  const held = body.subarray(0, Math.max(0, body.length - 1));
  const opening: Buffer[] = [];
  const last: Buffer[] = [];
  for (let n = 0; n < count; n++) {
    const stream = 1 + 2 * n;
    opening.push(
      encodeFrame({ type: FRAME.headers, flags: FLAG.end_headers, stream, payload: block }),
    );
    for (let at = 0; at < held.length; at += DATA_BYTES) {
      const payload = held.subarray(at, at + DATA_BYTES);
      opening.push(encodeFrame({ type: FRAME.data, flags: 0, stream, payload }));
    }
    const payload = body.subarray(held.length);
    last.push(encodeFrame({ type: FRAME.data, flags: FLAG.end_stream, stream, payload }));
  }
  return { opening, last };
}

/** HTTP/2 has no Host, Connection or Transfer-Encoding (RFC 9113, 8.2.2). */
function fieldsOf(target: Target, request: HttpRequest): [string, string][] {
  const headers = Object.entries(wireHeaders(target, request))
    .map((
      [name, value],
    ): [string, string] => [name.toLowerCase(), value.replaceAll(/[\r\n]/g, " ")]);
  const authority = headers.find(([name]) => name === "host")?.[1] ?? target.host;
  const none = new Set(["host", "connection", "transfer-encoding", "keep-alive", "upgrade"]);
  return [
    [":method", request.method],
    [":scheme", target.secure ? "https" : "http"],
    [":authority", authority],
    [":path", requestPath(target, request.path)],
    ...headers.filter(([name]) => !none.has(name)),
  ];
}

interface Stream {
  status: number | null;
  answered: number | null;
  body: Hash;
  done: boolean;
  error: string | null;
}

/** The client's half of one connection with `count` requests on it. */
class Volley {
  readonly #socket: Socket;
  readonly #streams: Stream[];
  readonly #reader = new FrameReader();
  error: string | null = null;
  #changed: () => void = () => {};
  #pinged = false;

  constructor(socket: Socket, count: number) {
    this.#socket = socket;
    this.#streams = Array.from({ length: count }, () => ({
      status: null,
      answered: null,
      body: createHash("sha256"),
      done: false,
      error: null,
    }));
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(error.message));
    socket.on("close", () => this.#fail("the connection was closed without an answer"));
  }

  /** Resolves when the server has answered a PING, or the connection has failed. */
  async ping(timeout: number): Promise<void> {
    const payload = Buffer.alloc(8);
    this.#socket.write(encodeFrame({ type: FRAME.ping, flags: 0, stream: 0, payload }));
    await this.#until(() => this.#pinged || this.error !== null, timeout);
  }

  async finished(timeout: number): Promise<void> {
    await this.#until(() => this.#streams.every(({ done }) => done), timeout);
    this.#fail(`no whole answer within ${timeout} ms`);
  }

  result(released: number, spread_us: number): Race {
    const shots = this.#streams.map((stream): RaceShot => ({
      status: stream.status,
      sent_us: spread_us,
      answered_us: stream.answered === null
        ? null
        : Math.round((stream.answered - released) * 1_000),
      fingerprint: stream.status === null ? null : stream.body.digest("hex").slice(0, 8),
      error: stream.error,
    }));
    const answered = shots.flatMap((shot) => shot.answered_us ?? []);
    const overlap = answered.length > 0 && spread_us <= Math.min(...answered);
    return { strategy: "h2", shots, spread_us, overlap, error: null };
  }

  #take(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#handle(frame);
    } catch (error) {
      this.#fail((error as Error).message);
    }
    this.#changed();
  }

  #handle(frame: Frame): void {
    const stream = frame.stream % 2 === 1 ? this.#streams[(frame.stream - 1) / 2] : undefined;
    const isAck = (frame.flags & FLAG.ack) !== 0;
    if (frame.type === FRAME.settings && !isAck) this.#acknowledge(FRAME.settings, Buffer.alloc(0));
    if (frame.type === FRAME.ping && !isAck) this.#acknowledge(FRAME.ping, frame.payload);
    if (frame.type === FRAME.ping && isAck) this.#pinged = true;
    if (frame.type === FRAME.goaway) this.#fail("the server ended the connection (GOAWAY)");
    if (stream) handleStream(stream, frame);
  }

  #acknowledge(type: number, payload: Buffer): void {
    this.#socket.write(encodeFrame({ type, flags: FLAG.ack, stream: 0, payload }));
  }

  #fail(error: string): void {
    this.error ??= error;
    for (const stream of this.#streams) {
      if (!stream.done) Object.assign(stream, { done: true, error });
    }
    this.#changed();
  }

  async #until(met: () => boolean, timeout: number): Promise<void> {
    const deadline = performance.now() + timeout;
    while (!met()) {
      const left = deadline - performance.now();
      if (left <= 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

function handleStream(stream: Stream, frame: Frame): void {
  if (stream.done) return;
  if (frame.type === FRAME.headers) {
    stream.answered ??= performance.now();
    const status = decodeStatus(headerBlock(frame));
    if (stream.status === null && status !== null && status >= 200) stream.status = status;
  }
  if (frame.type === FRAME.data) {
    stream.body.update(headerBlock({ ...frame, flags: frame.flags & FLAG.padded }));
  }
  if (frame.type === FRAME.rst_stream) stream.error = "the server reset the stream";
  const ended = frame.type <= FRAME.headers && (frame.flags & FLAG.end_stream) !== 0;
  stream.done = ended || frame.type === FRAME.rst_stream;
  if (stream.done && stream.status === null) stream.error ??= "the answer has no status";
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
