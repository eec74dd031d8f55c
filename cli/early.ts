import type { TokenFile } from "../server/auth/token_text.ts";
import { IS_QUICK, readTokenQuickly } from "../server/runtime/quick_files.ts";
import { dial, type Dialled } from "../server/runtime/wire.ts";

/** What is under way before anything else is loaded. */
export interface Early {
  socket: string;
  wire: Dialled;
  token: Promise<TokenFile>;
}

/** A socket's path may be no longer. */
const LONGEST = 100;

/**
 * Begins to connect to the daemon, and to read the token of a scope, where the environment alone
 * tells where they are; null where it takes more to find out.
 */
export function beginEarly(
  env: Record<string, string | undefined>,
  scope: string,
): Early | null {
  const home = env.GATE_HOME || (env.HOME ? `${env.HOME}/.gate` : "");
  const socket = `${home}/run/gate.sock`;
  const isKnown = IS_QUICK && home.startsWith("/") &&
    new TextEncoder().encode(socket).length <= LONGEST;
  const wire = isKnown ? dial(socket) : null;
  return wire && { socket, wire, token: readTokenQuickly(`${home}/tokens/${scope}`) };
}
