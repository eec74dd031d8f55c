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
export function beginEarly(env: Env, scope: string): Early | null {
  const place = earlyPlace(env);
  if (place === null) return null;
  const token = readTokenQuickly(place.tokens, scope); // first, because threads read it
  const wire = dial(place.socket);
  return wire && { socket: place.socket, wire, token };
}

type Env = Record<string, string | undefined>;

/** Where the daemon's socket and the tokens are. */
export interface EarlyPlace {
  socket: string;
  tokens: string;
}

/** The place, if the environment variables alone tell it. */
export function earlyPlace(env: Env): EarlyPlace | null {
  const home = env.GATE_HOME || (env.HOME ? `${env.HOME}/.gate` : "");
  const socket = IS_QUICK && home.startsWith("/") ? socketIn(home) : null;
  return socket === null ? null : { socket, tokens: tokensIn(home) };
}
