const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** A token, or why it may not be used. Light: `gate hook` and `gate prompt` wait for it. */
export type TokenFile = { token: string } | { problem: "missing" | "exposed" | "damaged" };

/** The folder that holds a token for each scope, in a file of that name. */
export function tokensIn(home: string): string {
  return `${home}/tokens`;
}

/** What is known of an open file before it is read. */
export interface TokenStats {
  mode: number;
  uid: number;
  isFile(): boolean;
}

/** What is wrong with the file of a token; null when it may be read. `own` is -1 on Windows. */
export function problemOf(stats: TokenStats, own: number): TokenFile | null {
  const { mode, uid } = stats;
  if (own >= 0 && ((mode & 0o077) !== 0 || uid !== own)) return { problem: "exposed" };
  return stats.isFile() ? null : { problem: "damaged" };
}

/** The token that such a file holds. */
export function parseToken(text: string): TokenFile {
  const token = text.trim();
  return TOKEN.test(token) ? { token } : { problem: "damaged" };
}
