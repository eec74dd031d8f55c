import { deflateRawSync } from "node:zlib";

type Deflate = (bytes: Uint8Array, options: { level: number; library: "zlib" }) => Uint8Array;

const { Bun } = globalThis as { Bun?: { deflateSync: Deflate } };

/** A small content in raw DEFLATE. Bun's own function makes no stream for each content. */
export function deflateSmall(bytes: Uint8Array, level: number): Uint8Array {
  return Bun
    ? Bun.deflateSync(bytes, { level, library: "zlib" })
    : deflateRawSync(bytes, { level });
}
