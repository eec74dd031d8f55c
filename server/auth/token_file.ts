import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { parseToken, problemOf, type TokenFile, tokensIn } from "../runtime/token_text.ts";

const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;
const LONGEST = 256;

/** Where the token of a scope is kept. */
export function tokenPath(home: string, scope: string): string {
  return join(tokensIn(home), scope);
}

/** What the file of a scope's token holds, unless others could read it. */
export function readTokenFile(home: string, scope: string): TokenFile {
  let file: number;
  try {
    // A pipe in its place would hold the whole process up, deadlines and all.
    file = openSync(tokenPath(home, scope), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    // A link is not followed: whoever set it would choose what is read.
    return { problem: (error as { code?: string }).code === "ELOOP" ? "damaged" : "missing" };
  }
  try {
    const problem = problemOf(fstatSync(file), userInfo().uid);
    if (problem) return problem;
    const bytes = new Uint8Array(LONGEST);
    const length = readSync(file, bytes, 0, LONGEST, 0);
    return parseToken(new TextDecoder().decode(bytes.subarray(0, length)));
  } finally {
    closeSync(file);
  }
}
