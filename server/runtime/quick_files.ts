const TOKEN = /^([A-Za-z0-9_-]{43})(?: ([\w.@-]{1,128}))?$/;

/** The content of a token file, or why nobody may use it. */
export type TokenFile =
  | { token: string; member_id: string | null }
  | { problem: "missing" | "exposed" | "damaged" };

/** The folder that holds a token for each scope, in a file of that name. */
export function tokensIn(home: string): string {
  return `${home}/tokens`;
}

/** The facts about an open file that decide whether to read it. */
export interface TokenStats {
  mode: number;
  uid: number;
  isFile(): boolean;
}

/** Why the gate must not read a token file; null when it may. `own` is -1 on Windows. */
export function problemOf(stats: TokenStats, own: number): TokenFile | null {
  const { mode, uid } = stats;
  if (own >= 0 && ((mode & 0o077) !== 0 || uid !== own)) return { problem: "exposed" };
  return stats.isFile() ? null : { problem: "damaged" };
}

/** Parses the text of a token file: a token and, in a team, the id of its person. */
export function parseToken(text: string): TokenFile {
  const [, token, member_id = null] = TOKEN.exec(text.trim()) ?? [];
  return token === undefined ? { problem: "damaged" } : { token, member_id };
}

/** The part of Bun's files that is used here. */
interface BunFile {
  stat(): Promise<TokenStats>;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
  slice(from: number, to: number): BunFile;
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

/** True on Bun: it reads files without `node:fs`, which loads slower than a hook answers. */
export const IS_QUICK = "Bun" in globalThis && process.getuid !== undefined;

/** The token of a scope, unless other users could read its file. */
export async function readTokenQuickly(folder: string, scope: string): Promise<TokenFile> {
  const file = Bun.file(`${folder}/${scope}`);
  // Threads do both while the caller connects and the folder is read.
  const looking = file.stat().catch(() => null);
  const reading = file.text().catch(() => null);
  // Lets the caller connect before `isPlain`, which reads the folder and blocks the event loop.
  await null;
  try {
    const isThere = isPlain(folder, scope);
    const stats = await looking;
    if (!isThere || stats === null) return MISSING;
    const problem = problemOf(stats, process.getuid!());
    if (problem) return problem;
    const text = await reading;
    return text === null ? MISSING : parseToken(text);
  } catch {
    return MISSING;
  }
}

const MISSING: TokenFile = { problem: "missing" };

/** True when the folder holds a file of that name and no link: Bun's `stat` follows links. */
function isPlain(folder: string, name: string): boolean {
  // A plain name is not looked up in the folder; a pattern is, and only that tells links apart.
  const pattern = `[${name[0]}]${name.slice(1)}`;
  const options = { cwd: folder, followSymlinks: false, onlyFiles: true };
  return [...new Bun.Glob(pattern).scanSync(options)].length === 1;
}

/** The standard input to its end. Of an input with more than `most` bytes only the length counts. */
export async function readInputQuickly(
  most: number,
): Promise<{ pieces: Uint8Array[]; length: number }> {
  // A stream takes longer to create than the input to read.
  const bytes = await Bun.stdin.slice(0, most + 1).bytes();
  let { length } = bytes;
  if (length <= most) return { pieces: [bytes], length };
  // Reading goes on, because a host that still writes must not fail.
  for await (const piece of Bun.stdin.stream()) length += piece.length;
  return { pieces: [], length };
}
