import type { QuickCalls } from "./quick_calls.ts";
import { readAnswer, SilentError, type WireAnswer } from "./wire.ts";

/** The thread sleeps this long for an answer; a person who must decide takes longer. */
const AT_ONCE_MS = 100;
const PAUSE_MS = 10;

/**
 * Waits for the daemon's answer to a request that a socket has taken, and closes the socket.
 * @throws SilentError, or Error when the connection is lost or the answer is not HTTP
 */
export async function receiveAnswer(
  calls: QuickCalls,
  socket: number,
  timeout_ms: number,
): Promise<WireAnswer> {
  const until = Date.now() + timeout_ms;
  let bytes = Buffer.alloc(0);
  for (let wait_ms = AT_ONCE_MS;;) {
    const piece = calls.receive(socket, wait_ms);
    if (piece === null) {
      if (Date.now() >= until) throw new SilentError();
      wait_ms = 0;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      continue;
    }
    bytes = Buffer.concat([bytes, piece]);
    const answer = readAnswer(bytes, piece.length === 0);
    if (answer === null) continue;
    calls.close(socket);
    return answer;
  }
}
