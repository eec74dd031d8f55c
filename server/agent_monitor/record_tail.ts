import type { FileHandle } from "node:fs/promises";
import { setImmediate as pause } from "node:timers/promises";
import { type RecordFacts, type RecordFile, type RecordReader } from "./agents/agent.ts";
import { openPlain } from "./files.ts";

/** The bytes that may still be read in this round, by all records together. */
export interface Budget {
  bytes: number;
}

const CHUNK_BYTES = 64 * 1024;
/** Parsing a longer line would hold the event loop; it carries contents, not counts. */
const MOST_LINE_BYTES = 1024 * 1024;
/** The end of a long record, which tells the state before the rest is read. */
const END_BYTES = 256 * 1024;

/**
 * Follows one growing record. Reads each byte once; of a long record the end first, so that the state
 * is known at once, and the older part in later rounds.
 */
export class RecordTail {
  readonly #file: RecordFile;
  #identity = "";
  #whole: Cursor;
  /** Reads the end while `#whole` is still far behind. */
  #end: Cursor | null = null;

  constructor(file: RecordFile) {
    this.#file = file;
    this.#whole = new Cursor(file.read(), 0);
  }

  /** Reads what was added since the last call, within the budget. Never throws. */
  async advance(budget: Budget): Promise<void> {
    const handle = await openPlain(this.#file.path);
    if (handle === null) return;
    try {
      const { dev, ino, size } = await handle.stat();
      const identity = `${dev}:${ino}`;
      // Another file under this name, or a shortened one, begins anew.
      if (identity !== this.#identity || size < this.#whole.offset) this.#reset(identity);
      if (this.#end === null && size - this.#whole.offset > END_BYTES) {
        this.#end = new Cursor(this.#file.read(), size - END_BYTES);
      }
      await this.#end?.read(handle, { bytes: 2 * END_BYTES });
      const until = { bytes: Math.min(budget.bytes, size - this.#whole.offset) };
      budget.bytes -= until.bytes;
      await this.#whole.read(handle, until);
      if (this.#end !== null && this.#whole.offset >= this.#end.offset) this.#end = null;
    } catch {
      // The file ended or changed while it was read; the next round begins with what is there.
    } finally {
      await handle.close().catch(() => {});
    }
  }

  /** Whether the whole record is read. */
  get isComplete(): boolean {
    return this.#end === null;
  }

  facts(): RecordFacts {
    const whole = this.#whole.reader.facts();
    if (this.#end === null) return whole;
    const end = this.#end.reader.facts();
    const { tokens, turns, title, started_at } = whole;
    const known = Object.fromEntries(Object.entries(end).filter(([, value]) => value !== null));
    return { ...whole, ...known, tokens, turns, title, started_at };
  }

  #reset(identity: string): void {
    this.#identity = identity;
    this.#whole = new Cursor(this.#file.read(), 0);
    this.#end = null;
  }
}

/** A place in a record, and what the lines up to it told. */
class Cursor {
  readonly reader: RecordReader;
  offset: number;
  #rest: Uint8Array[] = [];
  #rest_bytes = 0;
  /** Within a line that began before the first byte read, or that is too long. */
  #isSkipping: boolean;

  constructor(reader: RecordReader, offset: number) {
    this.reader = reader;
    this.offset = offset;
    this.#isSkipping = offset > 0;
  }

  async read(handle: FileHandle, { bytes }: Budget): Promise<void> {
    for (let left = bytes, chunks = 1; left > 0; chunks++) {
      const buffer = new Uint8Array(Math.min(CHUNK_BYTES, left));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, this.offset);
      if (bytesRead === 0) return;
      this.offset += bytesRead;
      left -= bytesRead;
      this.#take(buffer.subarray(0, bytesRead));
      if (chunks % 4 === 0) await pause();
    }
  }

  #take(chunk: Uint8Array): void {
    for (let from = 0;;) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) return this.#keep(chunk.subarray(from));
      this.#keep(chunk.subarray(from, end));
      if (!this.#isSkipping) this.#line();
      this.#isSkipping = false;
      this.#clear();
      from = end + 1;
    }
  }

  #keep(part: Uint8Array): void {
    if (this.#isSkipping || part.length === 0) return;
    this.#rest.push(part.slice());
    this.#rest_bytes += part.length;
    if (this.#rest_bytes <= MOST_LINE_BYTES) return;
    this.#isSkipping = true;
    this.#clear();
  }

  #clear(): void {
    this.#rest = [];
    this.#rest_bytes = 0;
  }

  #line(): void {
    const text = Buffer.concat(this.#rest).toString("utf8").replace(/^\ufeff/, "");
    if (text.trim() === "" || this.reader.skips?.(text.slice(0, 64))) return;
    try {
      const line: unknown = JSON.parse(text);
      if (typeof line === "object" && line !== null) {
        this.reader.add(line as Record<string, unknown>);
      }
    } catch {
      // A damaged line tells nothing; the next one may.
    }
  }
}

const NEWLINE = 10;
