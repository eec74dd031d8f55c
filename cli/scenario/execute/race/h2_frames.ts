import { Buffer } from "node:buffer";

/** Frame types of RFC 9113, 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  rst_stream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window_update: 8,
  continuation: 9,
} as const;

export const FLAG = { end_stream: 1, ack: 1, end_headers: 4, padded: 8, priority: 32 } as const;

/** The client preface (RFC 9113, 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** One complete frame. */
export interface Frame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
}

/** The bytes of one frame. */
export function encodeFrame({ type, flags, stream, payload }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A larger frame breaks the protocol: this client allows none. */
const LARGEST = 1 << 20;

/** Cuts a byte stream into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Returns the frames that are complete now. @throws Error for a frame that is too large */
  push(chunk: Buffer): Frame[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    while (this.#rest.length >= 9) {
      const length = this.#rest.readUIntBE(0, 3);
      if (length > LARGEST) throw new Error("it sent a frame that is too large for HTTP/2");
      if (this.#rest.length < 9 + length) break;
      frames.push({
        type: this.#rest.readUInt8(3),
        flags: this.#rest.readUInt8(4),
        stream: this.#rest.readUInt32BE(5) & 0x7fffffff,
        payload: this.#rest.subarray(9, 9 + length),
      });
      this.#rest = this.#rest.subarray(9 + length);
    }
    return frames;
  }
}

/** SETTINGS without push and without a dynamic header table, so that a status needs no state. */
export function settingsFrame(): Buffer {
  const payload = Buffer.alloc(18);
  [[1, 0], [2, 0], [4, 0x7fffffff]].forEach(([id, value], n) => {
    payload.writeUInt16BE(id!, n * 6);
    payload.writeUInt32BE(value!, n * 6 + 2);
  });
  return encodeFrame({ type: FRAME.settings, flags: 0, stream: 0, payload });
}

/** The server settings that matter for a volley (RFC 9113, 6.5.2). */
export interface PeerSettings {
  /** Requests at the same time. */
  streams: number;
  /** Bytes of one request's body before a WINDOW_UPDATE. */
  window: number;
}

/** Reads a server's SETTINGS. Missing ones have the protocol's defaults. */
export function readSettings(payload: Buffer): PeerSettings {
  const settings = { streams: Infinity, window: 65_535 };
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    const value = payload.readUInt32BE(at + 2);
    if (payload.readUInt16BE(at) === 3) settings.streams = value;
    if (payload.readUInt16BE(at) === 4) settings.window = value;
  }
  return settings;
}

/** Opens the window: the server may send any amount, and the client keeps what it needs. */
export function windowFrame(): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(0x7fff0000);
  return encodeFrame({ type: FRAME.window_update, flags: 0, stream: 0, payload });
}

/** A frame without its padding and priority (RFC 9113, 6.2). */
export function headerBlock({ flags, payload }: Frame): Buffer {
  const padded = (flags & FLAG.padded) !== 0;
  const start = (padded ? 1 : 0) + ((flags & FLAG.priority) !== 0 ? 5 : 0);
  const end = payload.length - (padded ? payload.readUInt8(0) : 0);
  return payload.subarray(start, end);
}
