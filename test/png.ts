import { crc32, deflateSync } from "node:zlib";

/** A PNG of one colour. Other sizes in its head than in its data make it a decompression bomb. */
export function pngOf(
  width: number,
  height: number,
  [red, green, blue]: readonly [number, number, number],
  head = { width, height },
): Uint8Array {
  const row = Buffer.concat([
    Buffer.from([0]),
    Buffer.from(Array.from({ length: width }, () => [red, green, blue]).flat()),
  ]);
  const size = Buffer.alloc(13);
  size.writeUInt32BE(head.width, 0);
  size.writeUInt32BE(head.height, 4);
  size.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", size),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
