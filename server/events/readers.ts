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

/** The clients of `GET /api/events`. Encodes each event once for all of them. */
export class EventReaders {
  readonly #options: ReadersOptions;
  readonly #max: number;
  readonly #readers = new Set<Reader>();
  readonly #unsubscribe: () => void;
  readonly #heart: ReturnType<typeof setInterval>;
  #closed = false;

  constructor(options: ReadersOptions) {
    this.#options = options;
    this.#max = options.limits?.readers ?? REQUEST_LIMITS.event_readers;
    this.#unsubscribe = options.bus.subscribe((event) => this.#receive(event));
    this.#heart = setInterval(() => this.#beat(), options.limits?.heartbeat_ms ?? 15_000);
    this.#heart.unref();
  }

  /** The number of open streams. */
  get size(): number {
    return this.#readers.size;
  }

  /** Whether a reader asked for this topic by name. */
  follows(topic: Topic): boolean {
    return [...this.#readers].some((reader) => reader.follows(topic));
  }

  /** The stream of a new reader, starting after its last event. @throws GateError `unavailable` */
  open(request: ReaderRequest): ReadableStream<Uint8Array> {
    if (this.#closed || this.#readers.size >= this.#max) {
      const why = this.#closed ? "the daemon stops" : `${this.#max} readers are listening already`;
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

  /** Ends every stream and tells its reader when to reconnect. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#heart);
    this.#unsubscribe();
    for (const reader of [...this.#readers]) reader.end("event: bye\nretry: 500\ndata: {}\n\n");
  }

  #receive(event: PublishedEvent): void {
    if (this.#readers.size === 0) return;
    const bytes = encodeEvent(event);
    for (const reader of this.#readers) reader.receive(event, bytes);
  }

  #beat(): void {
    for (const reader of this.#readers) reader.beat();
  }
}

// An invalid cursor counts as too old, so that the reader fetches everything again.
function parseCursor(last_event_id: string | null): number | null {
  if (last_event_id === null || last_event_id === "") return null;
  return CURSOR.test(last_event_id) ? Number(last_event_id) : -1;
}
