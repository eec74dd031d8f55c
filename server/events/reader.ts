import type { Environment } from "../environment.ts";
import type { PublishedEvent, Topic } from "./schema.ts";
import type { Stream } from "./stream.ts";

export interface ReaderOptions {
  stream: Pick<Stream, "head" | "since">;
  log: Environment["log"];
  /** Null for all. */
  topics: ReadonlySet<Topic> | null;
  project: string | null;
  /** The last cursor the reader has seen; null for a new one. */
  after: number | null;
  onEnd: () => void;
}

interface Waiting {
  cursor: number;
  bytes: Uint8Array;
}

const MOST_EVENTS = 256;
const MOST_BYTES = 256 * 1024;
const PAGE = 200;

/**
 * One client of the event stream. What it has not taken yet is bounded: a reader that falls behind
 * is told to read everything again and let go, so it never costs more memory than a quick one.
 */
export class Reader {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: ReaderOptions;
  #queue: Waiting[] = [];
  #bytes = 0;
  /** Everything up to this cursor was sent or is of no interest. */
  #last: number;
  #isCatchingUp: boolean;
  #hasMissed = false;
  #farewell: Uint8Array | null = null;
  #wake: () => void = () => {};

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#isCatchingUp = options.after !== null;
    this.#last = options.after ?? options.stream.head;
    if (!this.#isCatchingUp) this.#push(this.#last, encode(`id: ${this.#last}\nretry: 500\n\n`));
    this.body = new ReadableStream<Uint8Array>({
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#options.onEnd(),
    }, { highWaterMark: 0 });
  }

  /** An event, already encoded; what this reader did not ask for is passed over. */
  hear(event: PublishedEvent, bytes: Uint8Array): void {
    if (this.#wants(event)) this.#push(event.cursor, bytes);
  }

  /** A sign of life, when there is nothing else to say. */
  beat(): void {
    if (this.#queue.length === 0) this.#push(this.#last, encode(":\n\n"));
  }

  /** Says a last thing and closes the stream. */
  end(farewell: string): void {
    this.#farewell = encode(farewell);
    this.#options.onEnd();
    this.#wake();
  }

  #wants({ topic, project_id }: PublishedEvent): boolean {
    const { topics, project } = this.#options;
    return (topics?.has(topic) ?? true) && (project === null || project === project_id);
  }

  #push(cursor: number, bytes: Uint8Array): void {
    if (this.#farewell) return;
    this.#queue.push({ cursor, bytes });
    this.#bytes += bytes.length;
    if (this.#queue.length > MOST_EVENTS || this.#bytes > MOST_BYTES) this.#overflow();
    this.#wake();
  }

  #overflow(): void {
    this.#queue = [];
    this.#bytes = 0;
    if (this.#isCatchingUp) this.#hasMissed = true;
    else this.end(resync(this.#options.stream.head));
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#queue.length === 0 && !this.#farewell && !this.#isCatchingUp) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.#isCatchingUp) controller.enqueue(await this.#catchUp());
    else if (this.#queue.length > 0) controller.enqueue(this.#take());
    else {
      controller.enqueue(this.#farewell!);
      controller.close();
    }
  }

  #take(): Uint8Array {
    const taken = this.#queue;
    this.#queue = [];
    this.#bytes = 0;
    this.#last = taken.at(-1)!.cursor;
    return join(taken.map((waiting) => waiting.bytes));
  }

  // Live events wait in the queue meanwhile, so that none is lost between the two.
  async #catchUp(): Promise<Uint8Array> {
    this.#hasMissed = false;
    const kept = await this.#kept();
    if (kept === null) {
      this.#last = this.#options.stream.head;
    } else {
      this.#last = kept.at(-1)?.cursor ?? this.#last;
    }
    this.#isCatchingUp = kept !== null && (kept.length === PAGE || this.#hasMissed);
    this.#queue = this.#queue.filter((waiting) => waiting.cursor > this.#last);
    if (kept === null) return encode(`retry: 500\n${resync(this.#last)}`);
    return join([
      encode("retry: 500\n\n"),
      ...kept.filter((event) => this.#wants(event)).map(encodeEvent),
    ]);
  }

  async #kept(): Promise<PublishedEvent[] | null> {
    if (this.#last < 0) return null;
    try {
      return await this.#options.stream.since(this.#last, PAGE);
    } catch (error) {
      this.#options.log("warn", "kept events cannot be read", { error: String(error) });
      return null;
    }
  }
}

/** An event as it stands on the wire. */
export function encodeEvent({ cursor, ...data }: PublishedEvent): Uint8Array {
  return encode(`event: ${data.topic}\nid: ${cursor}\ndata: ${JSON.stringify(data)}\n\n`);
}

function resync(head: number): string {
  return `event: resync\nid: ${head}\ndata: {}\n\n`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function join(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
