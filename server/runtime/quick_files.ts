import { parseToken, problemOf, type TokenFile, type TokenStats } from "../auth/token_text.ts";

/** The part of Bun's files that is used here. */
interface BunFile {
  stat(): Promise<TokenStats>;
  text(): Promise<string>;
  stream(): AsyncIterable<Uint8Array>;
}
interface Quick {
  Bun: { file(path: string): BunFile; stdin: BunFile };
  process: { getuid?: () => number };
}

const { Bun, process } = globalThis as unknown as Quick;

/** Whether files can be read without `node:fs`, which takes longer to load than a hook to answer. */
export const IS_QUICK = "Bun" in globalThis && process.getuid !== undefined;

/** What the file of a token holds, unless others could read it. */
export async function readTokenQuickly(path: string): Promise<TokenFile> {
  const file = Bun.file(path);
  try {
    return problemOf(await file.stat(), process.getuid!()) ?? parseToken(await file.text());
  } catch {
    return { problem: "missing" };
  }
}

/** The standard input up to its end; what is beyond `most` bytes is read and dropped, but counted. */
export async function readInputQuickly(
  most: number,
): Promise<{ pieces: Uint8Array[]; length: number }> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of Bun.stdin.stream()) {
    length += piece.length;
    if (length <= most) pieces.push(piece);
  }
  return { pieces, length };
}
