import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { parseToken, problemOf, type TokenFile, tokensIn } from "../runtime/quick_files.ts";

const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;
const MAX_BYTES = 256;

/** The path of a scope's token file. */
export function tokenPath(home: string, scope: string): string {
  return join(tokensIn(home), scope);
}

/** The token of a scope, unless its file is missing, damaged or readable by other users. */
export function readTokenFile(home: string, scope: string): TokenFile {
  let file: number;
  try {
    // O_NONBLOCK: a named pipe in its place must not block the process.
    file = openSync(tokenPath(home, scope), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    // A link is not followed, because its author would choose the file.
    return { problem: (error as { code?: string }).code === "ELOOP" ? "damaged" : "missing" };
  }
  try {
    const problem = problemOf(fstatSync(file), userInfo().uid);
    if (problem) return problem;
    const bytes = new Uint8Array(MAX_BYTES);
    const length = readSync(file, bytes, 0, MAX_BYTES, 0);
    return parseToken(new TextDecoder().decode(bytes.subarray(0, length)));
  } finally {
    closeSync(file);
  }
}
