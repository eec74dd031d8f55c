import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { GateError } from "../errors.ts";
import { tokensIn } from "../runtime/quick_files.ts";
import { Scope, SOLE_MEMBER } from "./schema.ts";
import { createSecret } from "./secrets.ts";
import { readTokenFile, tokenPath } from "./token_file.ts";

/** One secret for each scope. */
export type Tokens = Record<Scope, string>;

/** The person that each token belongs to; null for the agents' token. */
export type Owners = Record<Scope, string | null>;

/** The owners while there is no team. */
export const SOLE_OWNERS: Owners = { agent: null, viewer: SOLE_MEMBER, reviewer: SOLE_MEMBER };

const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = constants;

/** The machine's tokens. Creates missing ones. @throws GateError when other users can read one */
export async function openTokens(home: string): Promise<Tokens> {
  await mkdir(tokensIn(home), { recursive: true, mode: 0o700 });
  const tokens: Partial<Tokens> = {};
  for (const scope of Scope.options) {
    await createToken(tokenPath(home, scope));
    tokens[scope] = await readToken(home, scope);
  }
  return tokens as Tokens;
}

/** The owners that the token files name. */
export function readOwners(home: string): Owners {
  const ownerOf = (scope: Scope) => {
    const found = readTokenFile(home, scope);
    return "token" in found && found.member_id || SOLE_MEMBER;
  };
  return { agent: null, viewer: ownerOf("viewer"), reviewer: ownerOf("reviewer") };
}

/** The token of a scope, for a client on this machine. @throws GateError */
export async function readToken(home: string, scope: Scope): Promise<string> {
  const found = await Promise.resolve(readTokenFile(home, scope));
  if ("token" in found) return found.token;
  const path = tokenPath(home, scope);
  if (found.problem === "exposed") {
    const message = `Cannot use the token at "${path}": others can read it. Delete it`;
    throw new GateError("forbidden", message, { next: "gate daemon restart" });
  }
  if (found.problem === "missing") {
    const message = `Cannot read the ${scope} token at "${path}": it does not exist`;
    throw new GateError("unavailable", message, { next: "gate daemon restart" });
  }
  const message = `Cannot use the token at "${path}": it is damaged. Delete it`;
  throw new GateError("unavailable", message, { next: "gate daemon restart" });
}

async function createToken(path: string): Promise<void> {
  let file;
  try {
    file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return;
    throw error;
  }
  try {
    await file.writeFile(`${createSecret(256)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}
