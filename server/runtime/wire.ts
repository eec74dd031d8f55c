import { BunWire } from "./bun_wire.ts";
import { NobodyError, type WireAnswer, type WireRequest } from "./wire_request.ts";

/** A connection that was begun before anybody knew what to ask. */
export type Dialled = BunWire;

/** Begins to connect, so that both ends get ready while the rest is loaded; null where it cannot. */
export function dial(socket: string): Dialled | null {
  return "Bun" in globalThis ? new BunWire(socket) : null;
}

/**
 * The answer of the daemon, without anything that takes time to load: `node:net` alone would double
 * the start of the executable. Over `dialled` while nothing has come of it.
 * @throws NobodyError, SilentError, or Error for an answer that is none
 */
export async function ask(
  request: WireRequest,
  dialled: Dialled | null = null,
): Promise<WireAnswer> {
  try {
    const isUsed = dialled?.isFresh && dialled.path === request.socket;
    const answer = isUsed ? await dialled.ask(request) : null;
    // A connection that had been open for too long was given up before it was asked anything.
    if (answer && answer.status !== TOO_LATE) return answer;
    const wire = dial(request.socket);
    if (wire) return await wire.ask(request);
    return await (await import("./socket_wire.ts")).askSocket(request);
  } catch (error) {
    throw NOBODY.has((error as { code?: string }).code ?? "") ? new NobodyError(error) : error;
  }
}

const TOO_LATE = 408;
const NOBODY = new Set(["ENOENT", "ECONNREFUSED"]);
