import { dialSocket } from "./connect.ts";
import type { Outcome, Volley } from "./race.ts";
import { Runner } from "./runner.ts";
import { serialize } from "./serialize.ts";

/** Enough for every connection that a target takes at once. */
const OPENING_MS = 100;

/**
 * Whole requests in one loop, for targets that give up on one that is not whole, or that take few
 * connections at once: what does not get in sends its request as soon as it does.
 */
export async function raceByBurst(volley: Volley): Promise<Outcome> {
  const { target, request, count, timeout_ms } = volley;
  const bytes = serialize(target, request);
  const dial = () => dialSocket(target, { ...volley, protocols: ["http/1.1"] });
  const sockets = Array.from({ length: count }, dial);
  const runners = sockets.map((socket) => new Runner(socket, request.method));
  await new Promise((resolve) => setTimeout(resolve, OPENING_MS));
  const released = performance.now();
  const opening = target.secure ? "secureConnect" : "connect";
  for (const runner of runners) {
    const { socket } = runner;
    const sent = () => runner.sent = performance.now();
    socket.once(opening, sent);
    socket.write(bytes);
    sent();
  }
  await Promise.all(runners.map((runner) => runner.settled(timeout_ms)));
  for (const socket of sockets) socket.destroy();
  return { shots: runners.map((runner) => runner.shot(released)) };
}
