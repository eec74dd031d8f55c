import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Execution, Finding } from "../../../cli/scenario/schema.ts";
import { execs, folder, runJson, serve, tool } from "./harness.ts";

const get = (path: string, more: object = {}) => ({ mode: "http", method: "GET", path, ...more });
const post = (path: string, more: object = {}) => ({ ...get(path, more), method: "POST" });

/** A server that takes every connection and treats it so. Counts the connections. */
async function listen(treat: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    seen.connections++;
    treat(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

interface Result {
  code: number;
  executions: Execution[];
  findings: Finding[];
  summary: { note: string | null; failed: number };
}

describe("a target that takes connections and never answers", () => {
  test("is one finding, and the other scenarios are not sent", async () => {
    const { url, seen } = await listen((socket) => socket.resume());
    const list = Array.from({ length: 40 }, (_, n) => get(`/${n}`, { priority: "critical" }));
    const argv = ["--target", url, "--timeout", "100ms", "--workers", "2"];
    const { code, executions, findings, summary } = await runJson(
      execs(...list),
      ...argv,
    ) as Result;
    expect(findings).toMatchObject([{
      title: "The target gives no HTTP answer",
      severity: "critical",
      also: ["TS-002"],
      happened: "No good answer: no whole answer within 100 ms; the target gives no HTTP answer",
    }]);
    expect(executions.slice(2)).toEqual(
      executions.slice(2).map(({ scenario_id }) => ({
        scenario_id,
        status: "inconclusive",
        reason: "Not sent: the target gives no HTTP answer",
        evidence: { not_sent: true },
        duration_ms: 0,
      })),
    );
    expect(summary.note).toBe("38 scenarios were not sent: the target gives no HTTP answer");
    // Two scenarios, two more requests that ask whether it lives, and the first connection.
    expect([code, seen.connections]).toEqual([2, 5]);
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ["it stays silent", (socket) => socket.resume(), "no whole answer within 100 ms"],
    [
      "it speaks another protocol",
      (socket) => socket.resume().end("SSH-2.0-OpenSSH_9.2\r\n"),
      "the answer is not HTTP/1.1",
    ],
  ])("ends a generated run before it begins: %s", async (_, treat, why) => {
    const { url } = await listen(treat);
    const ok = { responses: { 200: { description: "" } } };
    const paths = Object.fromEntries("abcdefgh".split("").map((one) => [`/${one}`, { get: ok }]));
    const cwd = folder({ "openapi.json": { openapi: "3.1.0", paths } });
    const { code, stdout, stderr } = await tool(
      ...[cwd, "run", "--target", url, "--timeout", "100ms"] as const,
    );
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain(`Cannot test ${url}: it gives no HTTP answer (GET /a: ${why})`);
  });

  test("is asked for no document at two dozen addresses", async () => {
    const { url, seen } = await listen((socket) => socket.destroy());
    const { code, stderr } = await tool(folder(), "run", "--target", url);
    expect(code).toBe(3);
    expect(stderr).toMatch(/it gives no HTTP answer \(GET \/openapi\.json: /);
    expect(seen.connections).toBeGreaterThan(2);
  });
});

describe("a target that stops answering", () => {
  async function dying(die: (socket: Socket) => void) {
    let isDead = false;
    return await serve((request, response) => {
      isDead ||= request.url === "/kill";
      if (isDead) return void die(request.socket);
      response.statusCode = request.method === "GET" ? 404 : 200;
      response.end();
    });
  }

  test.each<[string, (socket: Socket) => void]>([
    ["it stays silent", () => {}],
    ["it resets every connection", (socket) => socket.resetAndDestroy()],
  ])("%s: only the scenario that stopped it fails", async (_, die) => {
    const { url, requests } = await dying(die);
    const later = Array.from({ length: 9 }, (_, n) => post(`/${n}`, { priority: "critical" }));
    const list = execs(get("/a"), post("/kill", { priority: "medium" }), ...later);
    const argv = ["--target", url, "--timeout", "100ms"];
    const { code, executions, findings, summary } = await runJson(list, ...argv) as Result;
    expect(executions.filter(({ status }) => status === "failed")).toHaveLength(1);
    expect(executions[1]!.reason).toContain(
      "it left the target broken: it gives no HTTP answer since",
    );
    expect(findings).toMatchObject([{ scenario_id: "TS-002", severity: "medium", also: [] }]);
    expect(executions[2]).toMatchObject({
      status: "inconclusive",
      reason: "Not sent: TS-002 had left the target broken",
      evidence: { after_damage_by: "TS-002" },
    });
    expect(summary.note).toBe("9 scenarios were not sent: TS-002 had left the target broken");
    expect(requests.some(({ line }) => line === "POST /0")).toBe(false);
    expect(code).toBe(1);
  });

  test("in the rehearsal: the request is named, and the run ends", async () => {
    const { url } = await dying((socket) => socket.resetAndDestroy());
    const ok = { responses: { 200: { description: "" } } };
    const paths = { "/list": { get: ok }, "/kill": { post: ok }, "/later": { post: ok } };
    const cwd = folder({ "openapi.json": { openapi: "3.1.0", paths } });
    const { code, stderr } = await tool(cwd, "run", "--target", url, "--timeout", "100ms");
    expect(code).toBe(3);
    expect(stderr).toContain("it gives no HTTP answer since POST /kill was sent");
    expect(stderr).toContain("--as-documented");
  });

  test("one that is busy for a while is tested on", async () => {
    let free = 0;
    const { url } = await serve((request, response) => {
      const isSlow = request.url === "/slow";
      if (isSlow) free = performance.now() + 700;
      // It works on one request at a time.
      setTimeout(() => response.end("fine"), Math.max(0, free - performance.now()));
    });
    const list = execs(post("/slow"), post("/a"), post("/b"));
    const { executions } = await runJson(list, "--target", url, "--timeout", "100ms") as Result;
    expect(executions.map(({ status }) => status)).toEqual(["failed", "passed", "passed"]);
    expect(executions[0]!.reason).toBe("No good answer: no whole answer within 100 ms");
  });
});

test("nobody listens: the words name the port", async () => {
  const { url, server } = await serve(() => {});
  await new Promise((resolve) => server.close(resolve));
  const { port } = new URL(url);
  const cwd = folder({ "scenarios.json": { scenarios: execs(get("/")) } });
  const { code, stderr } = await tool(cwd, "run", "--target", url);
  expect(code).toBe(3);
  expect(stderr).toContain(`Cannot reach ${url}: nothing listens on port ${port} of 127.0.0.1\n`);
});
