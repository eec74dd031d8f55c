import { IS_QUICK, readInputQuickly } from "../../server/runtime/quick_files.ts";

/** Longer than any file that a tool writes in one call. The daemon has the same limit. */
const MAX_INPUT = 16 * 1024 * 1024;

/** Reads the whole standard input as text. @throws Error when it is too long or no UTF-8 */
export async function readInput(): Promise<string> {
  const { pieces, length } = IS_QUICK
    ? await readInputQuickly(MAX_INPUT)
    : await (await import("./input_pieces.ts")).readPieces(MAX_INPUT);
  if (length > MAX_INPUT) throw new Error("the hook's input is too long");
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
}
