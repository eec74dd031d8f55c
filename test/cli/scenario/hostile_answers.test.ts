import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { Execution } from "../../../cli/scenario/schema.ts";
import { execs, runJson } from "./harness.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const BLOCK = Buffer.alloc(65_536, 97);

/** Writes the head, and then the same bytes for as long as they are taken. */
function flood(head: string, bytes: Buffer | string) {
  return (socket: Socket) => {
    socket.write(head);
    const pour = () => {
      while (!socket.destroyed && socket.write(bytes));
      if (!socket.destroyed) socket.once("drain", pour);
    };
    pour();
  };
}

const send = (bytes: string | Buffer) => (socket: Socket) => void socket.end(bytes);

/** Each answer, the verdict on a plain GET, and what its reason says. */
const ANSWERS: Record<string, [(socket: Socket) => void, "passed" | "failed", RegExp]> = {
  "an endless body": [flood(`${OK}\r\n`, BLOCK), "passed", /^Answered 200$/],
  "endless chunks": [
    flood(CHUNKED, Buffer.concat([Buffer.from("10000\r\n"), BLOCK, Buffer.from("\r\n")])),
    "passed",
    /^Answered 200$/,
  ],
  "endless headers": [flood(OK, "x-a: b\r\n".repeat(999)), "failed", /headers are larger than/],
  "one endless header": [flood(`${OK}x-a: `, BLOCK), "failed", /headers are larger than/],
  "endless cookies": [flood(OK, "set-cookie: a=b\r\n".repeat(999)), "failed", /headers are larger/],
  "endless trailers": [flood(`${CHUNKED}0\r\n`, "x-t: y\r\n".repeat(999)), "failed", /headers are/],
  "endless interim answers": [
    flood("", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(500)),
    "failed",
    /no whole answer within 700 ms/,
  ],
  "a slow head": [
    (socket) => {
      const head = `${OK}x-a: ${"a".repeat(1_000)}`;
      let at = 0;
      const timer = setInterval(() => socket.destroyed || socket.write(head[at++] ?? "a"), 50);
      socket.once("close", () => clearInterval(timer));
    },
    "failed",
    /no whole answer within 700 ms/,
  ],
  "a body shorter than said": [send(`${OK}Content-Length: 9\r\n\r\nab`), "failed", /cut off|reset/],
  "a body longer than said": [
    send(`${OK}Content-Length: 2\r\n\r\nabcdefgh`),
    "failed",
    /more bytes follow than the Content-Length/,
  ],
  "two lengths": [
    send(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`),
    "failed",
    /two different lengths/,
  ],
  "a negative length": [
    send(`${OK}Content-Length: -1\r\n\r\nabc`),
    "failed",
    /Content-Length is not a number/,
  ],
  "a broken chunk": [send(`${CHUNKED}ZZ\r\nabc`), "failed", /the sizes of its chunks are wrong/],
  "no status": [send("HTTP/1.1 20\r\n\r\n"), "failed", /status is not a number of three digits/],
  "status 000": [
    send("HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n"),
    "failed",
    /Answered 0, which is no status of HTTP/,
  ],
  "another protocol": [send("SSH-2.0-OpenSSH_9.2\r\n"), "failed", /is not HTTP\/1\.1/],
  "a packed body that nobody asked for": [
    send(Buffer.concat([
      Buffer.from(`${OK}Content-Encoding: gzip\r\nContent-Type: application/json\r\n\r\n`),
      gzipSync(Buffer.alloc(50_000_000)),
    ])),
    "passed",
    /^Answered 200$/,
  ],
  "a redirect to a file": [
    send("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
    "passed",
    /^Answered 302$/,
  ],
  "a redirect to the metadata of a cloud": [
    send("HTTP/1.1 307 X\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
    "passed",
    /^Answered 307$/,
  ],
  "text that is not UTF-8": [
    send(Buffer.concat([Buffer.from(`${OK}\r\n`), Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0])])),
    "passed",
    /^Answered 200$/,
  ],
};

const names = Object.keys(ANSWERS);
/** The answers that only a time-out ends. On a busy machine any other answer may take as long. */
const UNENDING = ["endless interim answers", "a slow head"];
const ENDING = names.filter((name) => !UNENDING.includes(name));
const pathOf = (name: string) => `/${names.indexOf(name)}`;
const scenarios = (chosen: string[], more: object = {}) =>
  execs(...chosen.map((name) => ({ mode: "http", method: "GET", path: pathOf(name), ...more })));

/** Answers the path `/<n>` with the n-th of the answers. */
async function hostile(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    let head = "";
    socket.on("data", (chunk) => {
      const isAnswered = head.includes("\r\n\r\n");
      head += chunk;
      if (isAnswered || !head.includes("\r\n\r\n")) return;
      const at = Number(/^\S+ \/(\d+)/.exec(head)?.[1]);
      (ANSWERS[names[at]!]?.[0] ?? send(`${OK}Content-Length: 2\r\n\r\n{}`))(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const run = async (list: Record<string, unknown>[], url: string, timeout = "700ms") =>
  (await runJson(list, "--target", url, "--timeout", timeout)).executions as Execution[];

test("each hostile answer gets a verdict in words, and memory stays bounded", async () => {
  const before = process.memoryUsage().rss;
  const url = await hostile();
  const executions = [
    ...await run(scenarios(ENDING), url, "60s"),
    ...await run(scenarios(UNENDING), url),
  ];
  const all = [...ENDING, ...UNENDING];
  expect(executions.map(({ status, reason }, at) => [all[at], status, reason])).toEqual(
    all.map((name) => [name, ANSWERS[name]![1], expect.stringMatching(ANSWERS[name]![2])]),
  );
  expect(JSON.stringify(executions)).not.toMatch(/Parse Error|HPE_|ECONN/);
  expect(process.memoryUsage().rss - before).toBeLessThan(400_000_000);
});

test("as the answers to a race they are judged too", async () => {
  const executions = await run(
    scenarios(names, { method: "POST", concurrency: 3 }),
    await hostile(),
  );
  expect(executions).toHaveLength(names.length);
  for (const { status, reason } of executions) {
    expect(status).toMatch(/^(passed|failed)$/);
    expect(reason).not.toMatch(/Parse Error|HPE_|ECONN/);
  }
});

test("as the answer to a check they say why the effect could not be read", async () => {
  const checked = (chosen: string[]) =>
    execs(...chosen.map((name) => ({
      ...{ mode: "http", method: "POST", path: "/ok" },
      check: { path: pathOf(name), pointer: "/a", equals: 1 },
    })));
  const url = await hostile();
  const ended = await run(checked(ENDING), url, "60s");
  const executions = [...ended, ...await run(checked(UNENDING), url)];
  const reasons = Object.fromEntries(ENDING.map((name, at) => [name, ended[at]!.reason]));
  expect(new Set(executions.map(({ status }) => status))).toEqual(new Set(["inconclusive"]));
  expect(reasons["an endless body"]).toMatch(/answered more than 1 MiB$/);
  expect(reasons["a packed body that nobody asked for"]).toMatch(
    /answered in gzip, which was not asked for$/,
  );
});

test("a race whose answers are streams of events, or another protocol, ends with their heads", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", (chunk) => {
      socket.write(
        String(chunk).includes("/events")
          ? `${OK}Content-Type: text/event-stream\r\n\r\ndata: 1\n\n`
          : "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nabc",
      );
    });
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const race = { mode: "http", method: "POST", concurrency: 3 };
  const list = execs({ ...race, path: "/events" }, { ...race, path: "/socket" });
  const { port } = server.address() as AddressInfo;
  const [events, socket] = await run(list, `http://127.0.0.1:${port}`);
  expect(events!.reason).toBe("All three succeeded; only one should: a race");
  expect(socket!.reason).toMatch(/^vacuous: none of three succeeded \(101\)/);
});
