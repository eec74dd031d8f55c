import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { encodeFrame, FRAME } from "../../../cli/scenario/execute/race/h2_frames.ts";
import { execs, runJson } from "./harness.ts";

const CONTINUATION = 9;
const frame = (type: number, stream: number, payload: Buffer = Buffer.alloc(0)) =>
  encodeFrame({ type, flags: 0, stream, payload });
const many = (bytes: Buffer) => Buffer.concat(Array.from({ length: 500 }, () => bytes));
const SETTINGS = frame(FRAME.settings, 0);
const PING = frame(FRAME.ping, 0, Buffer.alloc(8));

function flood(socket: Socket, bytes: Buffer): void {
  const pour = () => {
    while (!socket.destroyed && socket.write(bytes));
    if (!socket.destroyed) socket.once("drain", pour);
  };
  pour();
}

test.each<[string, (socket: Socket) => void, RegExp]>([
  ["PING without end, and reads nothing", (socket) => {
    socket.pause();
    flood(socket, many(PING));
  }, /floods the connection/],
  ["SETTINGS without end", (socket) => flood(socket, many(SETTINGS)), /floods the connection/],
  [
    "headers without end",
    (socket) => {
      socket.write(frame(FRAME.headers, 1, Buffer.from([0x88])));
      flood(socket, frame(CONTINUATION, 1, Buffer.alloc(16_000, 0x40)));
    },
    /no good answer/,
  ],
  ["a reset of each stream", (socket) => {
    for (let stream = 1; stream < 20; stream += 2) {
      socket.write(frame(FRAME.rst_stream, stream, Buffer.from([0, 0, 0, 2])));
    }
  }, /the server reset the stream/],
  ["GOAWAY", (socket) => void socket.write(frame(FRAME.goaway, 0, Buffer.alloc(8))), /GOAWAY/],
])(
  "a target that sends %s gets a verdict in words, and memory stays bounded",
  async (_, treat, why) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      socket.once("data", () => {
        socket.write(SETTINGS);
        treat(socket);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const race = { mode: "http", method: "POST", path: "/", body: "{}", concurrency: 10 };
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const argv = ["--target", url, "--race-strategy", "h2", "--timeout", "1s"];
    const before = process.memoryUsage().rss;
    const { executions: [one] } = await runJson(execs(race), ...argv);
    expect(one).toMatchObject({ status: "failed", reason: expect.stringMatching(why) });
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  },
);
