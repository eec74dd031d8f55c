import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import type { Socket } from "node:net";
import {
  encodeFrame,
  FLAG,
  FRAME,
  type Frame,
  FrameReader,
  headerBlock,
  type PeerSettings,
  PREFACE,
  readSettings,
  settingsFrame,
  windowFrame,
} from "./h2_frames.ts";
import { lateAnswer, wordsOf } from "../transport_error.ts";
import { decodeStatus } from "./hpack.ts";
import type { Shot } from "./strategy.ts";

interface Stream {
  status: number | null;
  answered: number | null;
  interim: number[];
  body: Hash;
  done: boolean;
  error: string | null;
}

const MOST_ACKNOWLEDGED = 1_000;

/** The client side of one HTTP/2 connection with `count` requests. */
export class H2Connection {
  readonly #socket: Socket;
  readonly #streams: Stream[];
  readonly #reader = new FrameReader();
  error: string | null = null;
  #changed: () => void = () => {};
  #pinged = false;
  #acknowledged = 0;
  #settings: PeerSettings | null = null;

  constructor(socket: Socket, count: number) {
    this.#socket = socket;
    this.#streams = Array.from({ length: count }, () => ({
      status: null,
      answered: null,
      interim: [],
      body: createHash("sha256"),
      done: false,
      error: null,
    }));
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(wordsOf(error)));
    socket.on("close", () => this.#fail("the connection was closed without an answer"));
  }

  write(frames: Buffer[]): void {
    this.#socket.write(Buffer.concat(frames));
  }

  /** Sends the preface. Returns the server's settings; null when it does not speak HTTP/2. */
  async greet(timeout: number): Promise<PeerSettings | null> {
    this.write([PREFACE, settingsFrame(), windowFrame()]);
    await this.#until(() => this.#settings !== null || this.error !== null, timeout);
    return this.#settings;
  }

  /** Resolves when the server answers a PING, or when the connection fails. */
  async ping(timeout: number): Promise<void> {
    const payload = Buffer.alloc(8);
    this.#socket.write(encodeFrame({ type: FRAME.ping, flags: 0, stream: 0, payload }));
    await this.#until(() => this.#pinged || this.error !== null, timeout);
  }

  async finished(timeout: number): Promise<void> {
    await this.#until(() => this.#streams.every(({ done }) => done), timeout);
    this.#fail(lateAnswer(timeout));
  }

  shots(released: number, sent_us: number): Shot[] {
    return this.#streams.map((stream) => ({
      status: stream.status,
      sent_us,
      answered_us: stream.answered === null
        ? null
        : Math.round((stream.answered - released) * 1_000),
      fingerprint: stream.status === null ? null : stream.body.digest("hex").slice(0, 8),
      error: stream.error,
      headers: [],
      interim: stream.interim,
    }));
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
    if (frame.type === FRAME.settings && !isAck) {
      this.#settings ??= readSettings(frame.payload);
      this.#acknowledge(FRAME.settings, Buffer.alloc(0));
    }
    if (frame.type === FRAME.ping && !isAck) this.#acknowledge(FRAME.ping, frame.payload);
    if (frame.type === FRAME.ping && isAck) this.#pinged = true;
    if (frame.type === FRAME.goaway) this.#fail("the server ended the connection (GOAWAY)");
    if (stream) handleStream(stream, frame);
  }

  /** Acknowledgements that a peer does not read would fill the memory, so they have a limit. */
  #acknowledge(type: number, payload: Buffer): void {
    if (++this.#acknowledged > MOST_ACKNOWLEDGED) {
      this.#fail("the target floods the connection with PING or SETTINGS");
      return void this.#socket.destroy();
    }
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
    if (status !== null && status < 200) stream.interim = [...stream.interim.slice(-9), status];
    else if (stream.status === null && status !== null) stream.status = status;
  }
  if (frame.type === FRAME.data) {
    stream.body.update(headerBlock({ ...frame, flags: frame.flags & FLAG.padded }));
  }
  if (frame.type === FRAME.rst_stream) stream.error = "the server reset the stream";
  const ended = frame.type <= FRAME.headers && (frame.flags & FLAG.end_stream) !== 0;
  stream.done = ended || frame.type === FRAME.rst_stream;
  if (stream.done && stream.status === null) stream.error ??= "the answer has no status";
}
