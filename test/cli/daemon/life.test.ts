import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { identify, isSameProcess } from "../../../server/runtime/processes.ts";
import { must, until, World } from "../../e2e/world.ts";

// Each test starts up to fifty processes, so it uses the executable, which starts fastest.
vi.setConfig({ testTimeout: 180_000 });

let world: World;
beforeEach(async () => void (world = await World.create("executable")));
afterEach(() => world.close());

const countStarts = () =>
  readFileSync(join(world.gateHome, "logs", "daemon.log"), "utf8").split("\n")
    .filter((line) => line.includes('"message":"started"')).length;

test("start, status, restart, logs and stop work, and start and stop can be repeated", async () => {
  expect(must(await world.run(["daemon", "start"])).stdout).toContain(`:${world.port} (pid `);
  const pid = await world.daemonPid();
  expect(must(await world.run(["daemon", "start"])).stdout).toContain("already runs");
  expect(await world.daemonPid()).toBe(pid);
  const status = await world.json(["daemon", "status", "--json"]);
  expect(status).toMatchObject({ pid, port: world.port, healthy: true, projects: [] });
  expect(must(await world.run(["prompt"]))).toEqual({ code: 0, stdout: "", stderr: "" });
  must(await world.run(["daemon", "restart"]));
  const next = await world.daemonPid();
  expect(next).not.toBe(pid);
  expect(identify(pid)).toBeNull();
  const { stdout } = must(await world.run(["daemon", "logs"]));
  const messages = stdout.trim().split("\n").map((line) => JSON.parse(line).message);
  expect(messages).toEqual(["started", "stopping", "stopped", "started"]);
  expect(must(await world.run(["daemon", "stop"])).stdout).toBe("Stopped.\n");
  expect(identify(next)).toBeNull();
  expect(must(await world.run(["daemon", "stop"])).stdout).toBe("The daemon is not running.\n");
  expect(await world.run(["daemon", "status"])).toMatchObject({ code: 1 });
});

test.runIf(process.platform === "linux")(
  "a daemon in the background starts with threads for the disk, or with those that its user wants",
  async () => {
    const startedWith = async () => {
      must(await world.run(["daemon", "restart"]));
      const environment = readFileSync(`/proc/${await world.daemonPid()}/environ`, "utf8");
      return /^UV_THREADPOOL_SIZE=(.*)$/m.exec(environment.replaceAll("\0", "\n"))?.[1];
    };
    expect(await startedWith()).toBe("16");
    world.env.UV_THREADPOOL_SIZE = "3";
    expect(await startedWith()).toBe("3");
  },
);

test("fifty concurrent starts all succeed and start one daemon", async () => {
  const ended = await Promise.all(
    Array.from({ length: 50 }, () => world.run(["daemon", "start"])),
  );
  expect(ended.filter(({ code }) => code !== 0)).toEqual([]);
  const pids = new Set(ended.map(({ stdout }) => /pid (\d+)/.exec(stdout)?.[1]));
  expect([...pids]).toEqual([String(await world.daemonPid())]);
  expect(countStarts()).toBe(1);
});

test("a start after each SIGKILL starts the daemon again", async () => {
  for (let round = 1; round <= 8; round++) {
    must(await world.run(["daemon", "start"]));
    // The daemon answers a moment before it logs its start.
    await until("the start is logged", () => countStarts() === round);
    await world.kill(await world.daemonPid());
    expect(await world.run(["daemon", "status"])).toMatchObject({ code: 1 });
  }
});

test("a daemon.json that names another program's pid does not harm that program", async () => {
  const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const identity = identify(stranger.pid!)!;
    mkdirSync(world.gateHome, { mode: 0o700, recursive: true });
    const forged = {
      ...identity,
      port: world.port,
      version: "5.0.0",
      started_at: new Date().toISOString(),
      socket: join(world.gateHome, "run", "gate.sock"),
    };
    const forge = () => {
      writeFileSync(join(world.gateHome, "daemon.json"), JSON.stringify(forged), { mode: 0o600 });
    };
    forge();
    expect(must(await world.run(["daemon", "stop"])).stdout).toBe("The daemon is not running.\n");
    forge();
    must(await world.run(["daemon", "start"]));
    forge();
    must(await world.run(["daemon", "restart"]));
    forge();
    expect(must(await world.run(["daemon", "stop"])).stdout).toBe("Stopped.\n");
    expect(isSameProcess(identity)).toBe(true);
  } finally {
    stranger.kill("SIGKILL");
  }
});

test("an error names the program that occupies the port, and that program keeps running", async () => {
  const stranger = createServer((_request, response) => response.end("mine"));
  stranger.listen(world.port, "127.0.0.1");
  await once(stranger, "listening");
  try {
    for (const args of [["daemon", "start"], ["daemon", "start", "--foreground"], ["pending"]]) {
      const { code, stdout, stderr } = await world.run(args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain(`listen on port ${world.port}: process ${process.pid} (`);
      expect(stderr).toContain(
        "try: stop it, or set GATE_PORT to another port; then gate daemon start",
      );
    }
    expect(await (await fetch(`http://127.0.0.1:${world.port}/`)).text()).toBe("mine");
  } finally {
    stranger.close();
    stranger.closeAllConnections();
  }
});

test("stop ends open event streams in good order", async () => {
  must(await world.run(["daemon", "start"]));
  const token = await world.token("viewer");
  const streams = await Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`http://127.0.0.1:${world.port}/api/events`, {
        headers: { authorization: `Bearer ${token}` },
      })),
  );
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  const texts = Promise.all(streams.map((stream) => stream.text()));
  // It fails when the daemon does not end in time.
  must(await world.run(["daemon", "stop"]));
  expect(await texts).toHaveLength(20);
});

test("start --foreground prints a login link that works once, and Ctrl-C stops it", async () => {
  const daemon = world.spawn(["daemon", "start", "--foreground"]);
  const printed = collect(daemon);
  const link = await until(
    "the link is printed",
    () => /http:\S+login\?code=\S+/.exec(printed())?.[0],
  );
  expect(link).toMatch(new RegExp(`^http://localhost:${world.port}/login\\?code=`));
  const open = () => fetch(link.replace("localhost", "127.0.0.1"), { redirect: "manual" });
  expect((await open()).status).toBe(303);
  expect((await open()).status).toBe(401);
  const again = await world.run(["daemon", "start", "--foreground"]);
  expect(must(again).stdout).toContain("already runs");
  process.kill(daemon.pid!, "SIGINT");
  expect(await once(daemon, "exit")).toEqual([0, null]);
});

test("--auth none is refused on the default home", async () => {
  const daemon = world.spawn(["daemon", "start", "--foreground", "--auth", "none"]);
  const ended = once(daemon, "exit"); // it may exit before its output is read
  const printed = collect(daemon);
  await until("it prints the refusal", () => printed().includes("default home"));
  expect(await ended).toEqual([1, null]);
});

test.each<[string, (token: string) => void]>([
  ["missing", (token) => rmSync(token)],
  ["readable by others", (token) => chmodSync(token, 0o644)],
  ["damaged", (token) => writeFileSync(token, "x")],
])("a daemon whose token is %s is restarted as the error says", async (_, harm) => {
  must(await world.run(["daemon", "start"]));
  const pid = await world.daemonPid();
  const token = join(world.gateHome, "tokens", "reviewer");
  harm(token);
  const refused = await world.run(["approve", "0199a1b2"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(
    /^gate: Cannot (?:read|use) the .*token at .*gate daemon restart$/ms,
  );
  rmSync(token, { force: true });
  must(await world.run(["daemon", "restart"]));
  expect(identify(pid)).toBeNull();
  expect((await world.run(["approve", "0199a1b2"])).stderr).toContain("no id begins with");
});

test("logs -f follows the log until Ctrl-C", async () => {
  must(await world.run(["daemon", "start"]));
  const following = world.spawn(["daemon", "logs", "-f"]);
  const printed = collect(following);
  await until("the earlier lines are shown", () => printed().includes('"started"'));
  must(await world.run(["daemon", "stop"]));
  await until("the new lines are shown", () => printed().includes('"stopped"'));
  process.kill(following.pid!, "SIGINT");
  expect(await once(following, "exit")).toEqual([0, null]);
});

test("a home that other users may write to is refused, with the fix", async () => {
  mkdirSync(world.gateHome, { recursive: true });
  chmodSync(world.gateHome, 0o777);
  const { code, stderr } = await world.run(["daemon", "start"]);
  expect(code).toBe(1);
  expect(stderr).toContain("chmod go-rwx");
});

test("a home path too long for a socket uses the port", async () => {
  world.env["GATE_HOME"] = join(world.folder, "deep".repeat(30), "home");
  must(await world.run(["daemon", "start"]));
  expect(await world.json(["daemon", "status", "--json"])).toMatchObject({ port: world.port });
  must(await world.run(["daemon", "stop"]));
});

/** Returns a function for the output so far, of both streams. */
function collect(child: ChildProcess): () => string {
  let text = "";
  child.stdout?.on("data", (chunk) => text += chunk);
  child.stderr?.on("data", (chunk) => text += chunk);
  return () => text;
}

test("a daemon exits after its home is deleted", async () => {
  must(await world.run(["daemon", "start"]));
  const pid = await world.daemonPid();
  rmSync(world.gateHome, { recursive: true, maxRetries: 5 });
  await until("the daemon has ended", () => identify(pid) === null);
});
