/** Collects output of any length in bounded memory: it keeps the head and the tail. */
export class OutputBuffer {
  readonly #max: number;
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #total = 0;

  constructor(max_bytes: number) {
    this.#max = max_bytes;
  }

  /** Adds a copy of these bytes. */
  add(chunk: Uint8Array): void {
    this.#total += chunk.length;
    const toHead = Math.min(chunk.length, this.#max - this.#headBytes);
    if (toHead > 0) {
      this.#head.push(new Uint8Array(chunk.subarray(0, toHead)));
      this.#headBytes += toHead;
    }
    if (toHead < chunk.length) this.#addToTail(new Uint8Array(chunk.subarray(toHead)));
  }

  /** The output as text; one that is too long is cut in the middle. */
  finish(): { text: string; truncated: boolean } {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#total <= this.#max) {
      const text = decode(head);
      // Invalid bytes become longer replacement characters; the limit holds for the text.
      return sizeOf(text) <= this.#max
        ? { text, truncated: false }
        : { text: cut(encode(text), encode(text), sizeOf(text), this.#max), truncated: true };
    }
    return {
      text: cut(head, Buffer.concat([head, tail]), this.#total, this.#max),
      truncated: true,
    };
  }

  #addToTail(part: Uint8Array): void {
    this.#tail.push(part);
    this.#tailBytes += part.length;
    while (this.#tail.length > 1 && this.#tailBytes - this.#tail[0]!.length >= this.#max) {
      this.#tailBytes -= this.#tail.shift()!.length;
    }
  }
}

/** Head and tail of `total` bytes with a line that names the cut, in at most `max` bytes. */
function cut(start: Uint8Array, end: Uint8Array, total: number, max: number): string {
  for (let room = max; room > 0; room = Math.floor(room * 0.9)) {
    const head = decodeHead(start.subarray(0, Math.ceil(room / 2)));
    const tail = decode(end.subarray(boundaryAfter(end, end.length - Math.floor(room / 2))));
    const text = `${head}\n[… ${total - room} of ${total} bytes cut …]\n${tail}`;
    if (sizeOf(text) <= max) return text;
  }
  return decodeHead(start.subarray(0, max)); // no room for that line
}

function boundaryAfter(bytes: Uint8Array, at: number): number {
  let start = Math.max(at, 0);
  for (let on = 0; on < 3 && isContinuation(bytes[start]); on++) start++;
  return start;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** As text, without a character that the cut splits. */
function decodeHead(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function sizeOf(text: string): number {
  return encode(text).length;
}
