import { read } from "node:fs";

const PIECE = 64 * 1024;
const STDIN = 0;

/** The standard input up to its end; what is beyond `most` bytes is read and dropped, but counted. */
export async function readPieces(
  most: number,
): Promise<{ pieces: Uint8Array[]; length: number }> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const piece = await readPiece();
    if (piece.length === 0) return { pieces, length };
    length += piece.length;
    // Read to its end all the same: a host that is still writing must not be cut off.
    if (length <= most) pieces.push(piece);
  }
}

function readPiece(): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const buffer = new Uint8Array(PIECE);
    const again = () =>
      read(STDIN, buffer, 0, PIECE, null, (error, length) => {
        // Some hosts hand over a pipe that does not block.
        if (error?.code === "EAGAIN") return void setTimeout(again, 1);
        if (error && error.code !== "EOF") return reject(error);
        resolve(buffer.subarray(0, error ? 0 : length));
      });
    again();
  });
}
