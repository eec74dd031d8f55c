import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answerHook, type HookIo } from "../../../cli/hook/answer.ts";
import { SPEAK } from "../../server/hooks/stage.ts";

/** Deadlines short enough for a test. */
export const SHORT = { refuse: 1_500, report: 300, slice: 200, answer: 300, margin: 100 };
export const TOKEN = "a".repeat(43);

/** Returns the daemon's answer to the nth request; null for none. */
export type Respond = (request: string, nth: number, socket: Socket) => string | null;

/** Creates a home with a token, and a fake daemon. */
export function createHookStage() {
  const home = mkdtempSync(join(tmpdir(), "gate-hook-"));
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  mkdirSync(join(home, "run"));
  mkdirSync(join(home, "tokens"));
  writeFileSync(join(home, "tokens", "agent"), `${TOKEN}\n`, { mode: 0o600 });

  const daemon = (respond: Respond): Promise<void> => {
    const listening = server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("data", (data) => {
        requests.push(data.toString());
        const answer = respond(data.toString(), requests.length, socket);
        if (answer !== null) socket.end(answer);
      });
    });
    return new Promise((resolve) => listening.listen(join(home, "run", "gate.sock"), resolve));
  };
  const hook = (host: string, input: unknown, { env = {}, ...io }: Partial<HookIo> = {}) =>
    answerHook(host, {
      env: { HOME: "/nonexistent", GATE_HOME: home, ...env },
      cwd: "/",
      pid: 1,
      input: () => Promise.resolve(typeof input === "string" ? input : JSON.stringify(input)),
      deadlines: SHORT,
      ...io,
    });
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server?.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { home, requests, daemon, hook, close };
}

/** An HTTP response. */
export function http(body: string, { status = 200, headers = "" } = {}): string {
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${
    Buffer.byteLength(body)
  }\r\n${headers}\r\n${body}`;
}

/** The daemon's response for a held call. */
export function heldAnswer(host: string): string {
  const body = JSON.stringify(SPEAK[host]!.deny("Held by gate"));
  return http(body, { headers: "Gate-Held: 01a1\r\n" });
}
