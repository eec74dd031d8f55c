import { parseToken, problemOf, type TokenFile, type TokenStats } from "../auth/token_text.ts";

/** The part of Bun's files that is used here. */
interface BunFile {
  stat(): Promise<TokenStats>;
  text(): Promise<string>;
  stream(): AsyncIterable<Uint8Array>;
}
type BunGlob = new (pattern: string) => {
  scanSync(options: { cwd: string; followSymlinks: boolean; onlyFiles: boolean }): Iterable<string>;
};
interface Quick {
  Bun: { file(path: string): BunFile; stdin: BunFile; Glob: BunGlob };
  process: { getuid?: () => number };
}

const { Bun, process } = globalThis as unknown as Quick;

/** Whether files can be read without `node:fs`, which takes longer to load than a hook to answer. */
export const IS_QUICK = "Bun" in globalThis && process.getuid !== undefined;

/** What the file of a scope's token holds, unless others could read it. */
export async function readTokenQuickly(folder: string, scope: string): Promise<TokenFile> {
  const file = Bun.file(`${folder}/${scope}`);
  const looking = file.stat().catch(() => null); // while the folder is read
  try {
    const isThere = isPlain(folder, scope);
    const stats = await looking;
    if (!isThere || stats === null) return MISSING;
    return problemOf(stats, process.getuid!()) ?? parseToken(await file.text());
  } catch {
    return MISSING;
  }
}

const MISSING: TokenFile = { problem: "missing" };

/** Whether the folder itself holds that name, and no link of that name: Bun's `stat` follows one. */
function isPlain(folder: string, name: string): boolean {
  // Only a pattern makes it look into the folder, which tells what is a link.
  const pattern = `[${name[0]}]${name.slice(1)}`;
  const options = { cwd: folder, followSymlinks: false, onlyFiles: true };
  return [...new Bun.Glob(pattern).scanSync(options)].length === 1;
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
