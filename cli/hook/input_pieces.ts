import { read } from "node:fs";

const PIECE = 64 * 1024;
const STDIN = 0;

/** Reads the standard input to its end. Bytes beyond `most` are counted and dropped. */
export async function readPieces(
  most: number,
): Promise<{ pieces: Uint8Array[]; length: number }> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const piece = await readPiece();
    if (piece.length === 0) return { pieces, length };
    length += piece.length;
    // Reading goes on, because a host that still writes must not fail.
    if (length <= most) pieces.push(piece);
  }
}

function readPiece(): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const buffer = new Uint8Array(PIECE);
    const again = () =>
      read(STDIN, buffer, 0, PIECE, null, (error, length) => {
        // Some hosts pass a pipe that does not block.
        if (error?.code === "EAGAIN") return void setTimeout(again, 1);
        if (error && error.code !== "EOF") return reject(error);
        resolve(buffer.subarray(0, error ? 0 : length));
      });
    again();
  });
}
