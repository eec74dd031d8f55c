import {
  IS_QUICK,
  readTokenQuickly,
  type TokenFile,
  tokensIn,
} from "../../server/runtime/quick_files.ts";
import { dial, type Dialled, socketIn } from "../../server/runtime/wire.ts";

/** A connection and a token that load while the other modules load. */
export interface Early {
  socket: string;
  wire: Dialled;
  token: Promise<TokenFile>;
}

/**
 * Starts to connect to the daemon and to read the token of a scope. Returns null if the environment
 * variables alone do not tell where both are.
 */
export function beginEarly(
  env: Record<string, string | undefined>,
  scope: string,
): Early | null {
  const home = env.GATE_HOME || (env.HOME ? `${env.HOME}/.gate` : "");
  const socket = IS_QUICK && home.startsWith("/") ? socketIn(home) : null;
  if (socket === null) return null;
  const token = readTokenQuickly(tokensIn(home), scope); // first, because threads read it
  const wire = dial(socket);
  return wire && { socket, wire, token };
}
