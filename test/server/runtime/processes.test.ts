import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import process from "node:process";
import { expect, test } from "vitest";
import {
  commandOf,
  findListener,
  identify,
  isSameProcess,
  memberOf,
  POSIX,
  readListener,
  signalProcess,
} from "../../../server/runtime/processes.ts";

test("identify() tells a process from a later one with its pid", () => {
  const me = identify(process.pid)!;
  expect(me).toEqual(identify(process.pid));
  expect(isSameProcess(me)).toBe(true);
  expect(isSameProcess({ ...me, start_time: `${me.start_time}0` })).toBe(false);
});

test.each([0, -1, 2 ** 22 + 1])("identify() knows no process %i", (pid) => {
  expect(identify(pid)).toBeNull();
});

test("signalProcess() signals the very process and nobody else", async () => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  await once(child, "spawn");
  const identity = identify(child.pid!)!;
  expect(signalProcess({ ...identity, start_time: "another" }, "SIGTERM")).toBe(false);
  expect(isSameProcess(identity)).toBe(true);
  expect(signalProcess(identity, "SIGTERM")).toBe(true);
  await once(child, "exit");
  expect(isSameProcess(identity)).toBe(false);
  expect(signalProcess(identity, "SIGTERM")).toBe(false);
});

test.skipIf(process.platform === "win32")(
  "memberOf() finds one that goes on while another one ends during the look",
  async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore", detached: true });
    await once(child, "spawn");
    const group = child.pid!;
    const own = identify(group)!;
    expect(memberOf(group)).toEqual(own);
    const look = {
      members: () => [2 ** 22 + 1, group],
      startTime: (pid: number) => pid === group ? own.start_time : null,
    };
    expect(memberOf(group, look)).toEqual(own);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(memberOf(group, look)).toBeNull();
  },
);

test.each([1, process.pid])("signalProcess() never signals %i", (pid) => {
  expect(signalProcess(identify(pid) ?? { pid, start_time: "" }, "SIGTERM")).toBe(false);
});

test("findListener() names who has a port, and nobody where it is free", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  expect(findListener(port)).toEqual({ pid: process.pid, command: commandOf(process.pid) });
  await new Promise((resolve) => server.close(resolve));
  expect(findListener(port)).toBeNull();
});

test("ps tells the same process apart as well, whatever the time zone", () => {
  const zone = process.env["TZ"];
  const first = POSIX.startTime(process.pid);
  process.env["TZ"] = "Asia/Tokyo";
  const second = POSIX.startTime(process.pid);
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
  expect(first).toMatch(/\d{4}$/);
  expect(second).toBe(first);
  expect(POSIX.startTime(2 ** 22 + 1)).toBeNull();
});

const NETSTAT = `
  Proto  Local Address          Foreign Address        State           PID
  TCP    0.0.0.0:135            0.0.0.0:0              LISTENING       1044
  TCP    127.0.0.1:47000        0.0.0.0:0              ABH\u00d6REN         21884
  TCP    [::1]:5173             [::]:0                 LISTENING       21885
  TCP    127.0.0.1:54012        127.0.0.1:47001        ESTABLISHED     9120
`;

test.each([[47000, 21884], [5173, 21885], [47001, null], [54012, null], [7000, null]])(
  "netstat: on port %i listens %s",
  (port, pid) => expect(readListener(NETSTAT, port)).toBe(pid),
);
