import { setTimeout as sleep } from "node:timers/promises";
import { serialize } from "../http.ts";
import { dialSocket } from "./connect.ts";
import type { Outcome, Volley } from "./strategy.ts";
import { Runner } from "./runner.ts";

/** The time for the target to take all connections. */
const OPENING_MS = 100;

/**
 * Sends whole requests in one loop, for targets that reject incomplete requests or take few
 * connections at once. A connection that opens late sends its request when it opens.
 */
export async function raceByBurst(volley: Volley): Promise<Outcome> {
  const { target, request, count, timeout_ms } = volley;
  const bytes = serialize(target, request);
  const dial = () => dialSocket(target, { ...volley, protocols: ["http/1.1"] });
  const sockets = Array.from({ length: count }, dial);
  const runners = sockets.map((socket) => new Runner(socket, request.method));
  await sleep(OPENING_MS);
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
