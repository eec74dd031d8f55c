import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { NotificationLimits } from "../../../server/notifications/notifications.ts";
import type { Delivery } from "../../../server/notifications/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";

// deno-lint-ignore no-explicit-any
type Body = any;

/** A secret of 32 bytes in the form of Standard Webhooks. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** One request that a receiver got. */
export interface Received {
  path: string;
  headers: Record<string, string>;
  text: string;
  json: Body;
}

/** A receiver on loopback. `answer` may be replaced at any time. */
export interface ReceiverServer {
  url: string;
  received: Received[];
  answer: (request: Received, response: ServerResponse) => void;
  /** Waits until so many requests came. */
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function openReceiver(port = 0): Promise<ReceiverServer> {
  const received: Received[] = [];
  let wake = () => {};
  const server: Server = createServer((request: IncomingMessage, response) => {
    const parts: Uint8Array[] = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString();
      const headers = request.headers as Record<string, string>;
      const one = { path: request.url!, headers, text, json: JSON.parse(text) };
      received.push(one);
      opened.answer(one, response);
      wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const opened: ReceiverServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (_, response) => response.writeHead(204).end(),
    async until(count) {
      while (received.length < count) await new Promise<void>((resolve) => wake = resolve);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  onTestFinished(() => opened.close());
  return opened;
}

/** A gate that asks about everything and has these receivers, accepted by a person. */
export interface NotifyStage {
  gate: TestGate;
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }>;
  /** Writes an owner-only file of the home and returns its path. */
  secretFile(name: string, text: string, mode?: number): string;
  configure(receivers: unknown[], options?: { accept?: boolean }): Promise<void>;
  hold(input?: { path?: string; content?: string }): Promise<Body>;
  run(command: string): Promise<Body>;
  deliveries(state: "dead" | "waiting" | "sent"): Promise<Delivery[]>;
}

export async function openNotifyStage(
  limits: Partial<NotificationLimits> = {},
): Promise<NotifyStage> {
  const gate = await createTestGate({
    policies: { defaultEffect: "ask" },
    notifying: { timeout_ms: 2_000, random: () => 0.5, ...limits },
  });
  // The receivers check the time of a message.
  gate.clock.now = Date.now();
  let count = 0;
  const stage: NotifyStage = {
    gate,
    async ask(method, path, body) {
      const response = await gate.request(method, path, body);
      return { status: response.status, body: await response.json() };
    },
    secretFile(name, text, mode = 0o600) {
      const path = join(gate.home, name);
      writeFileSync(path, text, { mode });
      chmodSync(path, mode);
      return path;
    },
    async configure(receivers, { accept = true } = {}) {
      const path = join(gate.home, "config.json");
      const config = JSON.parse(readFileSync(path, "utf8"));
      writeFileSync(path, JSON.stringify({ ...config, notifications: { receivers } }));
      const { body: { outside_changes } } = await stage.ask("GET", "/api/config");
      const [change] = outside_changes;
      expect(change).toMatchObject({ path, waiting: true });
      if (!accept) return;
      const { after_sha256: sha256, number } = change;
      const accepted = await stage.ask("POST", "/api/config/accept", { path, sha256, number });
      expect(accepted.status).toBe(200);
      await gate.daemon.notifications.settle();
    },
    async hold({ path = `held/${++count}.txt`, content = "text\n" } = {}) {
      const sent = { tool: "write_file", input: { path, content } };
      const response = await gate.request("POST", "/api/actions", sent, "agent");
      expect(response.status).toBe(202);
      return await response.json();
    },
    async run(command) {
      const sent = { tool: "run_command", input: { command } };
      const response = await gate.request("POST", "/api/actions", sent, "agent");
      expect(response.status).toBe(202);
      return await response.json();
    },
    async deliveries(state) {
      const { body } = await stage.ask("GET", `/api/notifications/deliveries?state=${state}`);
      return body.items;
    },
  };
  return stage;
}

/** A webhook of this server, with its secret in a file. */
export function webhook(stage: NotifyStage, server: ReceiverServer, more: object = {}) {
  const secret_file = stage.secretFile("hook.key", `${SECRET}\n`);
  return { id: "hook", kind: "webhook", url: `${server.url}/hook`, secret_file, ...more };
}
