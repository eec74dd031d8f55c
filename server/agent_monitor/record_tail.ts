import type { Stats } from "node:fs";
import { type FileHandle, lstat } from "node:fs/promises";
import { platform } from "node:os";
import { setImmediate as pause } from "node:timers/promises";
import { type RecordFacts, type RecordFile, type RecordReader } from "./agents/agent.ts";
import { openPlain, type PlainFile, stateOf } from "./files.ts";
import { parseJson } from "./parse_json.ts";

/** Bounds what one round reads of the older parts of long records, all together. */
export interface Budget {
  bytes: number;
  ms: number;
}

const CHUNK_BYTES = 64 * 1024;
/** Parsing a longer line would hold the event loop; it carries contents, not counts. */
const MOST_LINE_BYTES = 768 * 1024;
/** The end of a long record, which tells the state before the rest is read. */
const END_BYTES = 256 * 1024;

/** On Windows nobody can replace a file that is open, so each look opens it anew. */
const STAYS_OPEN = platform() !== "win32";

/**
 * Follows one growing record. Reads each byte once; of a long record the end first, so that the state
 * is known at once, and the older part in later rounds. The file stays open while it grows.
 */
export class RecordTail {
  readonly #file: RecordFile;
  #identity = "";
  /** The state of the file at the last look, and whether it was read to its end then. */
  #state = "";
  #isRead = false;
  #open: FileHandle | null = null;
  #whole: Cursor;
  /** Reads the end while `#whole` is still far behind. */
  #end: Cursor | null = null;

  constructor(file: RecordFile) {
    this.#file = file;
    this.#whole = new Cursor(file.read(), 0);
  }

  /** Reads the lines added since the last call, and older ones within the budget. Never throws. */
  async advance(budget: Budget): Promise<void> {
    const stats = await lstat(this.#file.path).catch(() => null);
    const isUnchanged = stats !== null && this.#isRead && stateOf(stats) === this.#state;
    if (stats === null || isUnchanged) return await this.close();
    const opened = await this.#reopen(stats);
    if (opened === null) return;
    try {
      await this.#read(opened.file, opened.stats, budget);
    } catch {
      // The file ended or changed while it was read; the next round begins with what is there.
      await this.close();
    }
    if (!STAYS_OPEN) await this.close();
  }

  /** Closes the file. The next look opens it again. */
  async close(): Promise<void> {
    const file = this.#open;
    this.#open = null;
    await file?.close().catch(() => {});
  }

  /** The open file if it is still the one of this name, else the file that is there now. */
  async #reopen(stats: Stats): Promise<PlainFile | null> {
    if (this.#open !== null && stats.isFile() && identityOf(stats) === this.#identity) {
      return { file: this.#open, stats };
    }
    await this.close();
    const opened = await openPlain(this.#file.path);
    if (opened === null) return null;
    this.#open = opened.file;
    return opened;
  }

  async #read(handle: FileHandle, stats: Stats, budget: Budget): Promise<void> {
    const { size } = stats;
    const identity = identityOf(stats);
    // Another file under this name, or a shortened one, begins anew.
    if (identity !== this.#identity || size < this.#whole.offset) this.#reset(identity);
    if (this.#end === null && size - this.#whole.offset > END_BYTES) {
      this.#end = new Cursor(this.#file.read(), size - END_BYTES);
    }
    if (this.#end === null) await this.#whole.read(handle, size - this.#whole.offset);
    else {
      await this.#end.read(handle, Math.min(size - this.#end.offset, 2 * END_BYTES));
      await this.#readOlder(handle, budget);
      if (this.#whole.offset >= this.#end.offset) this.#end = null;
    }
    this.#state = stateOf(stats);
    this.#isRead = this.#whole.offset >= size;
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

  async #readOlder(handle: FileHandle, budget: Budget): Promise<void> {
    const begun = performance.now();
    const from = this.#whole.offset;
    const bytes = Math.min(budget.bytes, this.#end!.offset - from);
    if (bytes <= 0 || budget.ms <= 0) return;
    await this.#whole.read(handle, bytes, begun + budget.ms);
    budget.bytes -= this.#whole.offset - from;
    budget.ms -= performance.now() - begun;
  }

  #reset(identity: string): void {
    this.#identity = identity;
    this.#whole = new Cursor(this.#file.read(), 0);
    this.#end = null;
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** A place in a record, and what the lines up to it told. */
class Cursor {
  readonly reader: RecordReader;
  offset: number;
  #rest: Buffer[] = [];
  #rest_bytes = 0;
  /** Within a line that began before the first byte read, or that is too long. */
  #isSkipping: boolean;

  constructor(reader: RecordReader, offset: number) {
    this.reader = reader;
    this.offset = offset;
    this.#isSkipping = offset > 0;
  }

  /** Reads so many bytes, or fewer when the time is over. */
  async read(handle: FileHandle, bytes: number, until = Infinity): Promise<void> {
    for (let left = bytes, chunks = 1; left > 0 && performance.now() < until; chunks++) {
      const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, left));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, this.offset);
      if (bytesRead === 0) return;
      this.offset += bytesRead;
      left -= bytesRead;
      this.#take(buffer.subarray(0, bytesRead));
      if (chunks % 4 === 0) await pause();
    }
  }

  #take(chunk: Buffer): void {
    for (let from = 0;;) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) return this.#keep(chunk.subarray(from));
      const last = chunk.subarray(from, end);
      if (this.#rest_bytes > 0) this.#keep(last);
      if (!this.#isSkipping) {
        this.#line(this.#rest_bytes > 0 ? Buffer.concat(this.#rest) : last);
      }
      this.#isSkipping = false;
      this.#clear();
      from = end + 1;
    }
  }

  #keep(part: Buffer): void {
    if (this.#isSkipping || part.length === 0) return;
    // A copy, because the part would keep the whole chunk in memory.
    this.#rest.push(Buffer.from(part));
    this.#rest_bytes += part.length;
    if (this.#rest_bytes <= MOST_LINE_BYTES) return;
    this.#isSkipping = true;
    this.#clear();
    this.reader.missed?.();
  }

  #clear(): void {
    this.#rest = [];
    this.#rest_bytes = 0;
  }

  #line(bytes: Buffer): void {
    const text = bytes.toString("utf8").replace(/^\ufeff/, "");
    if (text.length <= 1 || this.reader.skips?.(text.slice(0, 64))) return;
    try {
      const line = parseJson(text);
      if (typeof line === "object" && line !== null) {
        this.reader.add(line as Record<string, unknown>);
      }
    } catch {
      // A damaged line tells nothing; the next one may.
    }
  }
}

const NEWLINE = 10;
