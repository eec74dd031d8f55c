import { REQUEST_LIMITS } from "../constants.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { Bus } from "./bus.ts";
import { encodeEvent, Reader } from "./reader.ts";
import type { PublishedEvent, Topic } from "./schema.ts";
import type { Stream } from "./stream.ts";

export interface ReadersOptions {
  bus: Bus;
  stream: Pick<Stream, "head" | "since">;
  log: Environment["log"];
  limits?: { readers?: number; heartbeat_ms?: number };
}

export interface ReaderRequest {
  topics?: Topic[];
  project: string | null;
  last_event_id: string | null;
}

const CURSOR = /^\d{1,15}$/;

/** Everybody who listens to `GET /api/events`; an event is encoded once for all of them. */
export class EventReaders {
  readonly #options: ReadersOptions;
  readonly #most: number;
  readonly #readers = new Set<Reader>();
  readonly #unsubscribe: () => void;
  readonly #heart: ReturnType<typeof setInterval>;
  #closed = false;

  constructor(options: ReadersOptions) {
    this.#options = options;
    this.#most = options.limits?.readers ?? REQUEST_LIMITS.event_readers;
    this.#unsubscribe = options.bus.subscribe((event) => this.#hear(event));
    this.#heart = setInterval(() => this.#beat(), options.limits?.heartbeat_ms ?? 15_000);
    this.#heart.unref();
  }

  /** How many listen now. */
  get size(): number {
    return this.#readers.size;
  }

  /** A new reader's stream, from its last event on. @throws GateError `unavailable` */
  open(request: ReaderRequest): ReadableStream<Uint8Array> {
    if (this.#closed || this.#readers.size >= this.#most) {
      const why = this.#closed ? "the daemon stops" : `${this.#most} readers are listening already`;
      throw new GateError("unavailable", `Cannot open an event stream: ${why}. Try again later`);
    }
    const { stream, log } = this.#options;
    const reader = new Reader({
      stream,
      log,
      topics: request.topics ? new Set(request.topics) : null,
      project: request.project,
      after: parseCursor(request.last_event_id),
      onEnd: () => this.#readers.delete(reader),
    });
    this.#readers.add(reader);
    return reader.body;
  }

  /** Tells every reader that the daemon goes, and when to come back. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#heart);
    this.#unsubscribe();
    for (const reader of [...this.#readers]) reader.end("event: bye\nretry: 500\ndata: {}\n\n");
  }

  #hear(event: PublishedEvent): void {
    const bytes = encodeEvent(event);
    for (const reader of this.#readers) reader.hear(event, bytes);
  }

  #beat(): void {
    for (const reader of this.#readers) reader.beat();
  }
}

// What cannot be a cursor of ours is like one too old: the reader is told to read all again.
function parseCursor(last_event_id: string | null): number | null {
  if (last_event_id === null || last_event_id === "") return null;
  return CURSOR.test(last_event_id) ? Number(last_event_id) : -1;
}
