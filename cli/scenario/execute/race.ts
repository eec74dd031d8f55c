import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { openSocket } from "./connect.ts";
import { type HttpRequest, wireHeaders } from "./http.ts";
import { raceOverHttp2 } from "./race_h2.ts";
import { type RawAnswer, ResponseParser } from "./response_parser.ts";
import { requestPath, type Target } from "./target.ts";

/** One of the identical requests, as it went. */
export interface RaceShot {
  status: number | null;
  /** When its last byte was handed to the kernel, from the release on. */
  sent_us: number;
  /** When the first byte of its answer came, from the release on; null when none came. */
  answered_us: number | null;
  /** Short hash of the body: which answers were the same. */
  fingerprint: string | null;
  error: string | null;
}

/** A volley, with the proof of how simultaneous it was. */
export interface Race {
  strategy: "last-byte" | "h2";
  shots: RaceShot[];
  /** Between the first and the last released byte. */
  spread_us: number;
  /** Every request had been sent before the first answer came. */
  overlap: boolean;
  error: string | null;
}

/** How the volley is released; `auto` takes HTTP/2 where TLS negotiates it. */
export const STRATEGIES = ["auto", "last-byte", "h2"] as const;
export type Strategy = typeof STRATEGIES[number];

export interface RaceOptions {
  timeout_ms: number;
  insecure?: boolean;
  race_strategy: Strategy;
}

/** Servers grant one HTTP/2 connection so many bytes before they must grant more. */
const H2_BYTES = 60_000;

/** Servers that distrust slow heads give up after this; the settle time stays well below. */
const SETTLE_MS = { least: 20, most: 500 };

/** Fires `count` identical requests at the same moment, by the best means the target offers. */
export async function raceRequests(
  target: Target,
  request: HttpRequest,
  count: number,
  options: RaceOptions,
): Promise<Race> {
  const fits = count * Buffer.byteLength(request.body ?? "") < H2_BYTES;
  const mayH2 = fits && options.race_strategy !== "last-byte" &&
    (target.secure || options.race_strategy === "h2");
  if (mayH2) {
    const one = await openSocket(target, { ...options, protocols: ["h2", "http/1.1"] });
    if (one instanceof Error) return brokenRace(one.message);
    const speaks = one.protocol === "h2" || !target.secure;
    const race = speaks
      ? await raceOverHttp2(one.socket, target, request, count, options.timeout_ms)
      : null;
    one.socket.destroy();
    if (race) return race;
  }
  return await raceByLastByte(target, request, count, options);
}

/**
 * Each request has its own open connection and all of its bytes but the last on the server's side;
 * then one synchronous loop sends the last bytes. Nothing else is sent meanwhile (it hangs some
 * servers).
 */
async function raceByLastByte(
  target: Target,
  request: HttpRequest,
  count: number,
  options: RaceOptions,
): Promise<Race> {
  const bytes = serialize(target, request);
  const opened = performance.now();
  const open = () => openSocket(target, { ...options, protocols: ["http/1.1"] });
  const lanes = await Promise.all(Array.from({ length: count }, open));
  const sockets = lanes.flatMap((lane) => lane instanceof Error ? [] : [lane.socket]);
  try {
    const failed = lanes.find((lane): lane is Error => lane instanceof Error);
    if (failed) return brokenRace(failed.message);
    const roundTrip = performance.now() - opened;
    return await fire(sockets, bytes, request.method, roundTrip, options.timeout_ms);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function fire(
  sockets: Socket[],
  bytes: Buffer,
  method: string,
  roundTrip: number,
  timeout: number,
): Promise<Race> {
  const lanes = sockets.map((socket) => new Lane(socket, method));
  const held = bytes.subarray(0, -1);
  await Promise.all(sockets.map((socket) => written(socket, held)));
  await pause(Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, 2 * roundTrip)));
  const last = bytes.subarray(-1);
  const released = performance.now();
  for (const lane of lanes) {
    lane.socket.write(last);
    lane.sent = performance.now();
  }
  await Promise.all(lanes.map((lane) => lane.settled(timeout)));
  return resultOf(lanes, released);
}

/** One connection of a volley. */
class Lane {
  readonly socket: Socket;
  readonly #parser: ResponseParser;
  sent = 0;
  #answered: number | null = null;
  #answer: RawAnswer | null = null;
  #error: string | null = null;
  #done: () => void = () => {};
  readonly #finished: Promise<void>;

  constructor(socket: Socket, method: string) {
    this.socket = socket;
    this.#parser = new ResponseParser(method);
    this.#finished = new Promise((resolve) => this.#done = resolve);
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#end(error.message));
    socket.on("close", () => this.#end(null));
  }

  async settled(timeout: number): Promise<void> {
    const timer = setTimeout(() => this.#end(`no whole answer within ${timeout} ms`), timeout);
    await this.#finished;
    clearTimeout(timer);
  }

  shot(released: number): RaceShot {
    const micros = (at: number) => Math.round((at - released) * 1000);
    const status = this.#answer?.status ?? null;
    return {
      status,
      sent_us: micros(this.sent),
      answered_us: this.#answered === null ? null : micros(this.#answered),
      fingerprint: status === null ? null : fingerprint(this.#answer!.body),
      error: this.#error ??
        (status === null ? "the connection was closed without an answer" : null),
    };
  }

  #take(chunk: Buffer): void {
    this.#answered ??= performance.now();
    try {
      this.#parser.push(chunk);
    } catch (error) {
      return this.#end((error as Error).message);
    }
    if (this.#parser.answer().complete) this.#end(null);
  }

  #end(error: string | null): void {
    if (this.#answer) return;
    this.#answer = this.#parser.answer(true);
    this.#error = error;
    this.#done();
  }
}

function resultOf(lanes: Lane[], released: number): Race {
  const shots = lanes.map((lane) => lane.shot(released));
  const sent = shots.map((shot) => shot.sent_us);
  const answered = shots.flatMap((shot) => shot.answered_us ?? []);
  const lastSent = Math.max(...sent);
  return {
    strategy: "last-byte",
    shots,
    spread_us: lastSent - Math.min(...sent),
    overlap: answered.length > 0 && lastSent < Math.min(...answered),
    error: null,
  };
}

function brokenRace(error: string): Race {
  return { strategy: "last-byte", shots: [], spread_us: 0, overlap: false, error };
}

function serialize(target: Target, request: HttpRequest): Buffer {
  const headers = Object.entries(wireHeaders(target, request));
  const head = [
    `${request.method} ${requestPath(target, request.path)} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value.replaceAll(/[\r\n]/g, " ")}`),
  ].join("\r\n");
  return Buffer.concat([
    Buffer.from(`${head}\r\n\r\n`, "latin1"),
    Buffer.from(request.body ?? "", "utf8"),
  ]);
}

function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (bytes.length === 0) return resolve();
    socket.write(bytes, () => resolve());
  });
}

function fingerprint(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex").slice(0, 8);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
