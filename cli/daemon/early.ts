import { type TokenFile, tokensIn } from "../../server/runtime/token_text.ts";
import { IS_QUICK, readTokenQuickly } from "../../server/runtime/quick_files.ts";
import { dial, type Dialled, socketIn } from "../../server/runtime/wire.ts";

/** What is under way before anything else is loaded. */
export interface Early {
  socket: string;
  wire: Dialled;
  token: Promise<TokenFile>;
}

/**
 * Begins to connect to the daemon, and to read the token of a scope, where the environment alone
 * tells where they are; null where it takes more to find out.
 */
export function beginEarly(
  env: Record<string, string | undefined>,
  scope: string,
): Early | null {
  const home = env.GATE_HOME || (env.HOME ? `${env.HOME}/.gate` : "");
  const socket = IS_QUICK && home.startsWith("/") ? socketIn(home) : null;
  const wire = socket === null ? null : dial(socket);
  return wire && { socket: wire.path, wire, token: readTokenQuickly(tokensIn(home), scope) };
}
