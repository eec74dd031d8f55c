import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { relayStart } from "../../../server/runtime/self.ts";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import { openReach } from "../../../server/sandbox/reach.ts";
import type { ProxyOptions } from "../../../server/sandbox/proxy.ts";
import { createStage, ENGINE } from "./stage.ts";

/** Node 20 cannot run the sources, so the relay is there only in its bundle. */
const RELAY = relayStart();
if (RELAY === null) console.error("NOT RUN: no bundle of gate for Node, so no relay was started");

async function serve() {
  const seen: string[] = [];
  const server = createServer((request, answer) => {
    seen.push(`${request.headers.host}${request.url}`);
    answer.end("SERVED");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { port, seen, close: () => server.close() };
}

async function runWith(
  command: string,
  hosts: string[],
  options: Partial<ProxyOptions> = {},
) {
  const stage = createStage({ "home/user/project/.env": "SECRET=1\n" });
  const { walls } = await stage.walls(command, { hosts, network: "loopback" });
  const env = { ...process.env, HOME: stage.home };
  const reach = await openReach(walls, {
    resolve: () => Promise.resolve(["127.0.0.1"]),
    ...options,
  });
  const result = await runCommand(command, {
    ...{ cwd: stage.root, timeout_ms: 20_000, max_output_bytes: 100_000, env },
    sandbox: startBehind(walls, env, reach),
  });
  return { ...result, asked: await reach?.close() ?? [], stage };
}

describe.runIf(ENGINE !== null && RELAY !== null)("a sandbox whose policy lists hosts", () => {
  test("reaches a listed host by the variables of a proxy, and no other", async () => {
    const { port, seen, close } = await serve();
    try {
      const { output, exit_code, asked } = await runWith(
        `curl -sS http://good.test:${port}/a; echo; curl -sS http://evil.test/b; ` +
          `curl -sS https://evil.test/c; curl -sS --noproxy '*' http://127.0.0.1:${port}/d; ` +
          `exec 3<>/dev/tcp/127.0.0.1/${port}`,
        [`good.test:${port}`, `127.0.0.1:${port}`],
      );
      expect(output).toMatch(/^SERVED\n/);
      expect(output).toContain('gate: "evil.test:80" is not among the hosts');
      expect(output).toMatch(/403[^]*Connection refused/);
      expect(exit_code).not.toBe(0);
      expect(seen).toEqual([`good.test:${port}/a`]);
      expect(asked.map(({ host, answer }) => [host, answer])).toEqual([
        ["good.test", "connected"],
        ["evil.test", "refused"],
        ["evil.test", "refused"],
      ]);
    } finally {
      close();
    }
  });

  test("shows the command three streams, no further job and nothing of gate's data", async () => {
    const { output } = await runWith(
      "ls /proc/self/fd | wc -l; jobs | wc -l; wait; ls /run /run/gate; " +
        "touch /run/gate/x; echo x > /run/gate/program; cat .env; env | grep -i _proxy | sort",
      ["good.test"],
    );
    expect(output).toMatch(/^4\n0\n/);
    expect(output).toMatch(/touch: [^\n]*Read-only/);
    expect(output).not.toContain("SECRET");
    expect(output).toContain("https_proxy=http://127.0.0.1:");
  });

  test("what it opened ends with the command", async () => {
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("gate-net-"));
    const before = folders().length;
    const { output, duration_ms } = await runWith("sleep 0.2; echo done", ["good.test"]);
    expect(output).toBe("done\n");
    expect(duration_ms).toBeLessThan(15_000);
    expect(folders().length).toBeLessThanOrEqual(before);
  });

  test("a command can end the way, and then has no network at all", async () => {
    const { port, seen, close } = await serve();
    try {
      const { output } = await runWith(
        'for p in /proc/[0-9]*; do [ "$(readlink $p/exe)" = /run/gate/program ] && ' +
          "kill -9 ${p#/proc/}; done; sleep 0.2; " +
          `curl -sS http://good.test:${port}/`,
        [`good.test:${port}`, `127.0.0.1:${port}`],
      );
      expect(output).toMatch(/Failed to connect|Connection refused|Couldn't connect/i);
      expect(seen).toEqual([]);
    } finally {
      close();
    }
  });

  test("without listed hosts, or with the whole network, there is none", async () => {
    const given = { closed_ports: [], hosts: ["good.test"], network: "all" as const };
    expect(await openReach(given)).toBeNull();
    expect(await openReach({ ...given, network: "none", hosts: [] })).toBeNull();
    expect(await openReach({ ...given, network: "none" }, { relay: null })).toBeNull();
    expect(existsSync("/run/gate")).toBe(false);
  });
});
