import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { QuickCalls } from "../../../server/runtime/quick_calls.ts";

const TOKEN = "t".repeat(43);
const calls = await QuickCalls.open();

test("only Bun on Linux has the calls", () => {
  expect(calls !== null).toBe("Bun" in globalThis && process.platform === "linux");
});

describe.runIf(calls)("on Bun", () => {
  let folder: string;
  let server: Server | null = null;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "gate-calls-"));
  });

  afterEach(() => {
    server?.close();
    server = null;
    rmSync(folder, { recursive: true });
  });

  const tokenFile = (text: string, mode = 0o600) => {
    writeFileSync(join(folder, "agent"), text);
    chmodSync(join(folder, "agent"), mode);
  };
  const token = () => calls!.readToken(folder, "agent");

  test.each([
    ["a token", `${TOKEN}\n`, { token: TOKEN, member_id: null }],
    ["a token of a member", `${TOKEN} ada`, { token: TOKEN, member_id: "ada" }],
    ["no token", "secret", { problem: "damaged" }],
    ["nothing", "", { problem: "damaged" }],
    ["more than a token", "t".repeat(5_000), { problem: "damaged" }],
  ])("a file with %s", (_, text, expected) => {
    tokenFile(text);
    expect(token()).toEqual(expected);
  });

  test("a file that others can read, a folder, a link and no file give no token", () => {
    expect(token()).toEqual({ problem: "missing" });
    tokenFile(TOKEN, 0o640);
    expect(token()).toEqual({ problem: "exposed" });
    rmSync(join(folder, "agent"));
    mkdirSync(join(folder, "agent"), { mode: 0o700 });
    expect(token()).toEqual({ problem: "damaged" });
    rmSync(join(folder, "agent"), { recursive: true });
    tokenFile(TOKEN);
    symlinkSync("agent", join(folder, "linked"));
    expect(calls!.readToken(folder, "linked")).toEqual({ problem: "missing" });
  });

  test("bytes go to a server and come back, and its end is told apart from a pause", async () => {
    const path = await serve((text) => `${text}!`);
    const socket = calls!.connect(path)!;
    expect(calls!.receive(socket, 0)).toBe(null);
    expect(calls!.send(socket, new TextEncoder().encode("hello"))).toBe(true);
    expect(new TextDecoder().decode(await next(socket))).toBe("hello!");
    expect(await next(socket)).toEqual(new Uint8Array());
    calls!.close(socket);
    expect(() => calls!.receive(socket, 0)).toThrow("the connection to the daemon is lost");
  });

  test("nobody listens, or the file is no socket", () => {
    expect(calls!.connect(join(folder, "gate.sock"))).toBe(null);
    tokenFile(TOKEN);
    expect(calls!.connect(join(folder, "agent"))).toBe(null);
  });

  test("a server that reads nothing does not take everything at once", async () => {
    const path = await serve(null);
    const socket = calls!.connect(path)!;
    expect(calls!.send(socket, new Uint8Array(4 * 1024 * 1024))).toBe(false);
    calls!.close(socket);
  });

  /** A server that answers the first bytes and ends; with null it reads nothing. */
  async function serve(answer: ((text: string) => string) | null): Promise<string> {
    const path = join(folder, "gate.sock");
    server = createServer((connection) => {
      if (answer === null) return void connection.pause();
      connection.on("data", (bytes) => connection.end(answer(bytes.toString())));
    });
    await new Promise<void>((resolve) => server!.listen(path, resolve));
    return path;
  }

  /** The next bytes. The server runs in this process, so the thread may not sleep. */
  async function next(socket: number): Promise<Uint8Array> {
    for (;;) {
      const piece = calls!.receive(socket, 0);
      if (piece) return piece;
      await pause(1);
    }
  }
});
