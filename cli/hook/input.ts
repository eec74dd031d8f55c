import { IS_QUICK, readInputQuickly } from "../../server/runtime/quick_files.ts";

/** Longer than any file that a tool writes in one call. The daemon has the same limit. */
export const MAX_INPUT = 16 * 1024 * 1024;

/**
 * Reads the whole standard input as text, after what has been read of it.
 * @throws Error when it is too long or no UTF-8
 */
export async function readInput(read: readonly Uint8Array[] = []): Promise<string> {
  const begun = Buffer.concat(read);
  const most = Math.max(0, MAX_INPUT - begun.length);
  const { pieces, length } = IS_QUICK
    ? await readInputQuickly(most)
    : await (await import("./input_pieces.ts")).readPieces(most);
  if (begun.length + length > MAX_INPUT) throw new Error("the hook's input is too long");
  return textOf([begun, ...pieces]);
}

/** The text of a whole input. @throws TypeError when it is no UTF-8 */
export function textOf(pieces: readonly Uint8Array[]): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
}
