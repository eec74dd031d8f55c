import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTokens, type Tokens } from "../../../server/auth/tokens.ts";
import type { PublishedEvent } from "../../../server/events/schema.ts";
import { type Gate, startGate } from "../../../server/start.ts";
import { startCpuClock } from "../../cpu_clock.ts";
import { requestText, sendRaw } from "../../raw_http.ts";

const MB = 1024 * 1024;
const REQUESTS = 100;

let home: string;
let gate: Gate;
let tokens: Tokens;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "gate-"));
  const environment = { home, now: Date.now, id: () => crypto.randomUUID(), log: () => {} };
  gate = await startGate({ environment, port: 0, timeouts: { write_ms: 300 } });
  tokens = await openTokens(home);
});

afterAll(async () => {
  await gate.close();
  rmSync(home, { recursive: true });
});

function text(method: string, path: string): string {
  return requestText(method, path, [
    ["Host", `127.0.0.1:${gate.port}`],
    ["Authorization", `Bearer ${tokens.viewer}`],
  ]);
}

/** Opens the event stream and collects its text, or never reads it. */
function listen(isReading: boolean) {
  const socket = connect(gate.port, "127.0.0.1");
  const state = { socket, text: "", closed: false };
  socket.on("error", () => {});
  socket.on("close", () => state.closed = true);
  if (isReading) socket.on("data", (chunk: Uint8Array) => state.text += chunk.toString());
  else socket.pause();
  socket.write(text("GET", "/api/events"));
  return state;
}

async function readerCount(): Promise<number> {
  const { body } = await sendRaw(gate.port, text("GET", "/metrics"));
  return Number(/^gate_event_readers (\d+)$/m.exec(body)?.[1]);
}

async function until(condition: () => boolean | Promise<boolean>, deadline_ms = 60_000) {
  const deadline = performance.now() + deadline_ms;
  while (!await condition()) {
    if (performance.now() > deadline) throw new Error("the condition did not come true in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let cursor = 1_000_000;

function publish(count: number): void {
  const events = Array.from({ length: count }, (): PublishedEvent => ({
    topic: "actions",
    type: "action.submitted",
    project_id: "load",
    id: crypto.randomUUID(),
    seq: 1,
    at: "2026-01-01T00:00:00.000Z",
    cursor: ++cursor,
  }));
  gate.daemon.bus.publish(events);
}

test("h-6287434616 a reader that never reads is dropped and uses little memory", async () => {
  const client = listen(false);
  await until(async () => await readerCount() === 1);
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 400 && await readerCount() > 0; i++) publish(100);
  expect(await readerCount()).toBe(0);
  publish(10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * MB);
  client.socket.destroy();
});

test("a fast reader receives all 10,000 events in order beside a stalled one", async () => {
  const slow = listen(false);
  const quick = listen(true);
  await until(async () => await readerCount() === 2);
  const first = cursor + 1;
  for (let i = 0; i < 100; i++) {
    publish(100);
    await until(() => quick.text.includes(`id: ${cursor}\n`));
  }
  const heard = [...quick.text.matchAll(/^event: actions\nid: (\d+)$/gm)].map((m) => Number(m[1]));
  expect(heard).toEqual(Array.from({ length: 10_000 }, (_, i) => first + i));
  expect(quick.text).not.toContain("resync");
  for (const { socket } of [slow, quick]) socket.destroy();
  await until(async () => await readerCount() === 0);
});

test("50 disconnected clients leave no reader", async () => {
  const clients = Array.from({ length: 50 }, () => listen(true));
  await until(async () => await readerCount() === 50);
  for (const { socket } of clients) socket.destroy();
  await until(async () => await readerCount() === 0);
});

test("a client that closes its half of the connection is disconnected", async () => {
  const socket = connect({ port: gate.port, host: "127.0.0.1", allowHalfOpen: true });
  let isOver = false;
  socket.on("error", () => {});
  socket.on("end", () => isOver = true);
  socket.resume();
  socket.end(text("GET", "/api/events"));
  await until(() => isOver);
  await until(async () => await readerCount() === 0);
  socket.destroy();
});

test("h-5c9df78a13 the API stays fast and small with 300 readers", async () => {
  const before = process.memoryUsage().rss;
  const clients = Array.from({ length: 300 }, () => listen(true));
  await until(async () => await readerCount() === 300);
  const cpuMs = startCpuClock();
  for (let i = 0; i < REQUESTS; i++) {
    publish(1);
    await sendRaw(gate.port, text("GET", "/api/daemon/status"));
  }
  // The clients share the processor with the daemon.
  expect(cpuMs() / REQUESTS).toBeLessThan(250);
  await until(() => clients.every((client) => client.text.includes(`id: ${cursor}\n`)));
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * MB);
  for (const { socket } of clients) socket.destroy();
  await until(async () => await readerCount() === 0);
});
