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
