import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SUBJECTS } from "../../e2e/world.ts";
import { startFaultyServer } from "./faulty_server.ts";

const SCRIPT = join(import.meta.dirname!, "faulty_server.ts");

async function startOn(runtime: string): Promise<number> {
  const program = spawn(runtime, [SCRIPT, "print-port"]);
  onTestFinished(() => void program.kill());
  const [port] = await once(program.stdout, "data");
  return Number(String(port));
}

/** Everything that a server sends after one request, until it closes the connection. */
function answerOf(port: number, path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.on("data", (bytes) => answer += bytes);
    socket.on("error", () => {}); // a reset ends it too
    socket.on("close", () => resolve(answer));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}

test.each([
  ["this runtime", () => startFaultyServer()],
  ["Bun", () => startOn(SUBJECTS.bun[0])],
])("on %s a request that fails gets no answer, never an empty 200", async (_, start) => {
  const port = await start();
  expect(await answerOf(port, "/fail")).toBe("");
  expect(await answerOf(port, "/broken")).toBe("");
});
