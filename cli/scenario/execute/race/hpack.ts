import { Buffer } from "node:buffer";

/** The `:status` values of the static table (RFC 7541, appendix A). */
const STATUSES = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS = 8;
const LAST_STATUS = FIRST_STATUS + STATUSES.length - 1;

/** Huffman codes of the digits (RFC 7541, appendix B). A status consists of digits. */
const DIGITS: Record<string, string> = {
  "00000": "0",
  "00001": "1",
  "00010": "2",
  "011001": "3",
  "011010": "4",
  "011011": "5",
  "011100": "6",
  "011101": "7",
  "011110": "8",
  "011111": "9",
};

/** Header fields as literals without indexing, so that every request has the same bytes. */
export function encodeHeaders(fields: [string, string][]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [
    Buffer.from([0x00]),
    literal(Buffer.from(name, "latin1")),
    literal(Buffer.from(value, "latin1")),
  ]));
}

/** The status, which must be the first field of a header block (RFC 9113, 8.3); else null. */
export function decodeStatus(block: Buffer): number | null {
  let at = 0;
  // Size updates of the dynamic table may precede the first field.
  while (at < block.length && (block[at]! & 0xe0) === 0x20) at = integer(block, at, 5).next;
  const first = block[at];
  if (first === undefined) return null;
  if ((first & 0x80) !== 0) {
    const { value } = integer(block, at, 7);
    return STATUSES[value - FIRST_STATUS] ?? null;
  }
  const name = integer(block, at, (first & 0xc0) === 0x40 ? 6 : 4);
  if (name.value === 0) return namedStatus(block, name.next);
  if (name.value < FIRST_STATUS || name.value > LAST_STATUS) return null;
  return toStatus(string(block, name.next));
}

function namedStatus(block: Buffer, at: number): number | null {
  const { length, next } = string(block, at);
  return toStatus(string(block, next + length));
}

function toStatus({ text }: { text: string }): number | null {
  return /^[1-5]\d\d$/.test(text) ? Number(text) : null;
}

function string(block: Buffer, at: number): { text: string; next: number; length: number } {
  const isHuffman = ((block[at] ?? 0) & 0x80) !== 0;
  const { value: length, next } = integer(block, at, 7);
  const bytes = block.subarray(next, next + length);
  return { text: isHuffman ? huffmanDigits(bytes) : bytes.toString("latin1"), next, length };
}

function huffmanDigits(bytes: Buffer): string {
  const bits = [...bytes.subarray(0, 8)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let text = "";
  for (let at = 0; at < bits.length;) {
    const short = DIGITS[bits.slice(at, at + 5)];
    const digit = short ?? DIGITS[bits.slice(at, at + 6)];
    if (digit === undefined) break;
    text += digit;
    at += short === undefined ? 6 : 5;
  }
  return text;
}

function literal(bytes: Buffer): Buffer {
  return Buffer.concat([prefixed(bytes.length), bytes]);
}

function prefixed(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function integer(block: Buffer, at: number, bits: number): { value: number; next: number } {
  const most = (1 << bits) - 1;
  let value = (block[at] ?? 0) & most;
  let next = at + 1;
  if (value < most) return { value, next };
  for (let shift = 0; shift < 28 && next < block.length; shift += 7) {
    const byte = block[next++]!;
    value += (byte & 127) << shift;
    if ((byte & 128) === 0) break;
  }
  return { value, next };
}
