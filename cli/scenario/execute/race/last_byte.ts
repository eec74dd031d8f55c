import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { serialize } from "../http.ts";
import type { Target } from "../target.ts";
import { type Connected, openSocket } from "./connect.ts";
import type { Outcome, Volley } from "./strategy.ts";
import { Runner } from "./runner.ts";

/** The settle time stays well below the time-outs of servers for slow heads. */
const SETTLE_MS = { least: 20, most: 500 };

/** How long the target may take to accept all connections and to read all but the last bytes. */
const PATIENCE_MS = 3_000;

/**
 * Sends this many bytes one at a time right before the release, to wake a sleeping target. Otherwise
 * the first released byte wakes it, it takes the processor, and the other bytes leave a millisecond
 * later (300 µs windows on Deno: 30 % found without, 90 % with).
 */
const WAKING = 4;

/**
 * Gives each request a connection and sends all of its bytes but the last. Then one synchronous loop
 * sends the last bytes. Sends nothing else meanwhile, because that hangs some servers.
 */
export async function raceByLastByte(volley: Volley): Promise<Outcome> {
  const began = performance.now();
  const opened = await openAll(volley);
  const sockets = opened.flatMap((one) => one instanceof Error ? [] : [one.socket]);
  try {
    if (opened[0] instanceof Error) return { shots: [], error: opened[0].message };
    if (sockets.length < volley.count) {
      return { unfit: `the target took only ${sockets.length} connections at once` };
    }
    return await fire(sockets, volley, 2 * (performance.now() - began));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Resolves the name once: several addresses would spread the volley over several machines. */
async function openAll({ target, count, ...options }: Volley): Promise<(Connected | Error)[]> {
  const open = (to: Target, timeout_ms: number) =>
    openSocket(to, { ...options, timeout_ms, protocols: ["http/1.1"] });
  const first = await open(target, options.timeout_ms);
  if (first instanceof Error) return [first];
  const address = first.socket.remoteAddress ?? target.hostname;
  const patience = Math.min(PATIENCE_MS, options.timeout_ms);
  const others = Array.from({ length: count - 1 }, () => open({ ...target, address }, patience));
  return [first, ...await Promise.all(others)];
}

async function fire(sockets: Socket[], volley: Volley, settle: number): Promise<Outcome> {
  const { target, request, timeout_ms } = volley;
  const bytes = serialize(target, request);
  const runners = sockets.map((socket) => new Runner(socket, request.method));
  const held = bytes.subarray(0, -1 - WAKING);
  const areRead = await within(
    Math.min(PATIENCE_MS, timeout_ms),
    Promise.all(sockets.map((socket) => written(socket, held))),
  );
  if (!areRead) return { unfit: "the target does not read one request before another is whole" };
  await sleep(Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, settle)));
  await nextTick(); // Reads what arrived meanwhile.
  if (refuseHalves(runners)) {
    return { unfit: "the target gives up on requests whose last byte is late" };
  }
  const released = release(runners, bytes.subarray(held.length));
  await Promise.all(runners.map((runner) => runner.settled(timeout_ms)));
  return { shots: runners.map((runner) => runner.shot(released)) };
}

/** Sends the last bytes. Returns the time of the first one. */
function release(runners: Runner[], ending: Buffer): number {
  const waking = [...ending].map((byte) => Buffer.of(byte));
  const last = waking.pop()!;
  for (const byte of waking) for (const { socket } of runners) socket.write(byte);
  const released = performance.now();
  for (const runner of runners) {
    runner.socket.write(last);
    runner.sent = performance.now();
  }
  return released;
}

/** True when the target refused and answered none, so that another strategy may try. */
function refuseHalves(runners: Runner[]): boolean {
  const early = runners.map((runner) => runner.early());
  return early.includes("refused") && !early.includes("answered");
}

function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket.write(bytes, () => resolve()));
}

async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const cancel = new AbortController();
  const late = sleep(ms, false, { signal: cancel.signal }).catch(() => false);
  const done = await Promise.race([work.then(() => true), late]);
  cancel.abort();
  return done;
}
