import type { Environment } from "../environment.ts";
import type { PublishedEvent, Topic } from "./schema.ts";
import type { Stream } from "./stream.ts";

export interface ReaderOptions {
  stream: Pick<Stream, "head" | "since">;
  log: Environment["log"];
  /** Null subscribes to all topics. */
  topics: ReadonlySet<Topic> | null;
  project: string | null;
  /** The last cursor that the reader received; null for a new reader. */
  after: number | null;
  onEnd: () => void;
}

interface Waiting {
  cursor: number;
  bytes: Uint8Array;
}

const MAX_EVENTS = 256;
const MAX_BYTES = 256 * 1024;
const PAGE = 200;

/**
 * One client of the event stream. Its queue is bounded: the daemon tells a reader that falls behind
 * to fetch everything again (`event: resync`) and closes its stream.
 */
export class Reader {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: ReaderOptions;
  #queue: Waiting[] = [];
  #bytes = 0;
  /** Every event up to this cursor was sent or filtered out. */
  #last: number;
  #isCatchingUp: boolean;
  #overflowedWhileCatchingUp = false;
  #final: Uint8Array | null = null;
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

  /** Whether the reader asked for this topic by name. */
  follows(topic: Topic): boolean {
    return this.#options.topics?.has(topic) ?? false;
  }

  /** Queues an encoded event, unless the reader filters it out. */
  receive(event: PublishedEvent, bytes: Uint8Array): void {
    if (this.#wants(event)) this.#push(event.cursor, bytes);
  }

  /** Queues a heartbeat when the queue is empty. */
  beat(): void {
    if (this.#queue.length === 0) this.#push(this.#last, encode(":\n\n"));
  }

  /** Sends a last message and closes the stream. */
  end(message: string): void {
    this.#final = encode(message);
    this.#options.onEnd();
    this.#wake();
  }

  #wants({ topic, project_id }: PublishedEvent): boolean {
    const { topics, project } = this.#options;
    return (topics?.has(topic) ?? true) && (project === null || project === project_id);
  }

  #push(cursor: number, bytes: Uint8Array): void {
    if (this.#final) return;
    this.#queue.push({ cursor, bytes });
    this.#bytes += bytes.length;
    if (this.#queue.length > MAX_EVENTS || this.#bytes > MAX_BYTES) this.#overflow();
    this.#wake();
  }

  #overflow(): void {
    this.#queue = [];
    this.#bytes = 0;
    if (this.#isCatchingUp) this.#overflowedWhileCatchingUp = true;
    else this.end(resync(this.#options.stream.head));
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#queue.length === 0 && !this.#final && !this.#isCatchingUp) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.#isCatchingUp) controller.enqueue(await this.#catchUp());
    else if (this.#queue.length > 0) controller.enqueue(this.#take());
    else {
      controller.enqueue(this.#final!);
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

  // New events wait in the queue during the read, so that none is lost in between.
  async #catchUp(): Promise<Uint8Array> {
    this.#overflowedWhileCatchingUp = false;
    const kept = await this.#readKept();
    if (kept === null) {
      this.#last = this.#options.stream.head;
    } else {
      this.#last = kept.at(-1)?.cursor ?? this.#last;
    }
    this.#isCatchingUp = kept !== null && (kept.length === PAGE || this.#overflowedWhileCatchingUp);
    this.#queue = this.#queue.filter((waiting) => waiting.cursor > this.#last);
    if (kept === null) return encode(`retry: 500\n${resync(this.#last)}`);
    return join([
      encode("retry: 500\n\n"),
      ...kept.filter((event) => this.#wants(event)).map(encodeEvent),
    ]);
  }

  /** The next page of stored events; null if the client must fetch everything again. */
  async #readKept(): Promise<PublishedEvent[] | null> {
    if (this.#last < 0) return null; // the client sent an invalid cursor
    try {
      return await this.#options.stream.since(this.#last, PAGE);
    } catch (error) {
      this.#options.log("warn", "Cannot read the kept events", { error: String(error) });
      return null;
    }
  }
}

/** An event in the SSE format. */
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
