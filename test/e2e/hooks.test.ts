import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SPEAK } from "../server/hooks/stage.ts";
import { askHook } from "./hook.ts";
import { must, until, World } from "./world.ts";

const HOSTS = Object.keys(SPEAK);

describe("gate hook, run by the executable", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable", { isBare: true });
    await world.init();
    must(await world.run(["daemon", "stop"]));
  });
  afterAll(() => world.close());

  const ask = (host: string, input: unknown) => askHook(world, host, input);
  const call = (host: string, command: string, event: "before" | "after" = "before") =>
    SPEAK[host]![event](SPEAK[host]!.command, { command }, { cwd: world.project, key: command });
  const newest = async () => (await world.api("GET", "/api/actions?limit=1")).body.items[0];

  test("the hook starts the daemon when none runs", async () => {
    expect((await ask("claude-code", call("claude-code", "echo first"))).output).toEqual({});
    expect(await newest()).toMatchObject({ tool: "Bash", command: "echo first" });
  });

  test.each(HOSTS)(
    "%s: the hook allows a call, records its end, and blocks another",
    async (host) => {
      expect((await ask(host, call(host, "echo hi"))).output).toEqual({});
      expect(await newest()).toMatchObject({ agent: host, execution: "running" });
      expect((await ask(host, call(host, "echo hi", "after"))).output).toEqual({});
      expect(await newest()).toMatchObject({ agent: host, execution: "succeeded" });
      const [tool, input] = SPEAK[host]!.write;
      const written = input(join(world.project, ".env"), "S=1");
      const at = { cwd: world.project, key: "w" };
      const { reason } = await ask(host, SPEAK[host]!.before(tool, written, at));
      expect(reason).toMatch(/secrets stay with people.*Instead: write \.env\.example/);
      expect(existsSync(join(world.project, ".env"))).toBe(false);
    },
  );

  test.each(HOSTS)("%s: the hook waits until a person approves a held call", async (host) => {
    const asked = ask(host, call(host, `make ${host}`));
    const held = await until("the call is held", async () => {
      const { body } = await world.api("GET", "/api/actions?status=pending");
      return body.items[0];
    });
    expect(held).toMatchObject({ agent: host, command: `make ${host}` });
    must(await world.run(["approve", held.id]));
    expect((await asked).output).toEqual({});
    expect(await newest()).toMatchObject({ id: held.id, execution: "running" });
  });

  test("a held call survives a restart of the daemon", async () => {
    const asked = ask("codex", call("codex", "make restart"));
    const held = () =>
      until("the call is held", async () => {
        const answer = await world.api("GET", "/api/actions?status=pending").catch(() => null);
        return answer?.body.items?.[0];
      });
    await held();
    must(await world.run(["daemon", "stop"]));
    must(await world.run(["approve", (await held()).id]));
    expect((await asked).output).toEqual({});
  });

  test("a write by the host's own tool can be rolled back", async () => {
    const file = world.write("src/a.txt", "old\n");
    const input = { file_path: file, content: "new\n" };
    const { before, after } = SPEAK["claude-code"]!;
    const at = { cwd: world.project, key: "w-1" };
    expect((await ask("claude-code", before("Write", input, at))).output).toEqual({});
    writeFileSync(file, "new\n");
    await ask("claude-code", after("Write", input, at));
    must(await world.run(["rollback", (await newest()).id]));
    expect(readFileSync(file, "utf8")).toBe("old\n");
  });

  test("an input of 3 MiB arrives complete", async () => {
    const file = join(world.project, "src/long.txt");
    const content = "x".repeat(3 * 1024 * 1024);
    const { before } = SPEAK["claude-code"]!;
    const at = { cwd: world.project, key: "long" };
    const input = { file_path: file, content };
    expect((await ask("claude-code", before("Write", input, at))).output).toEqual({});
    expect(await newest()).toMatchObject({ tool: "Write", bytes: content.length });
  });

  test.each(["", "{", "[]", '"x"', "{}", "\0", "x".repeat(100_000)])(
    "malformed input %# is refused",
    async (input) => {
      expect((await ask("claude-code", input)).reason).toMatch(/^Blocked by gate: /);
    },
  );

  test("an event that gate does not handle goes on, and nothing is recorded", async () => {
    const before = await newest();
    const stop = { ...call("claude-code", "echo unseen"), hook_event_name: "Stop" };
    expect((await ask("claude-code", stop)).output).toEqual({});
    expect(await newest()).toEqual(before);
  });

  test("input over the size limit is refused", async () => {
    const long = JSON.stringify({ ...call("codex", "echo"), filler: "x".repeat(17 * 1024 * 1024) });
    expect((await ask("codex", long)).reason).toMatch(/too long/);
  });

  test("a call with a wrong token is refused", async () => {
    const token = join(world.gateHome, "tokens", "agent");
    const kept = readFileSync(token);
    writeFileSync(token, `${"x".repeat(43)}\n`);
    const { reason } = await ask("claude-code", call("claude-code", "echo hi"));
    expect(reason).toMatch(/^Blocked by gate: /);
    writeFileSync(token, kept);
  });

  test("a call is refused when other users can read the token", async () => {
    const token = join(world.gateHome, "tokens", "agent");
    chmodSync(token, 0o644);
    onTestFinished(() => chmodSync(token, 0o600));
    const { reason } = await ask("claude-code", call("claude-code", "echo hi"));
    // The daemon may see it first. Then it restores the mode and blocks the session.
    expect(reason).toMatch(/^Blocked by gate: .*(others|tokens\/agent" without permission)/);
  });

  describe("with another program on the socket", () => {
    beforeAll(async () => void must(await world.run(["daemon", "stop"])));

    const listen = async (answer: (socket: Socket) => void) => {
      const folder = join(world.gateHome, "run");
      mkdirSync(folder, { recursive: true });
      const stranger = createServer(answer);
      await new Promise<void>((resolve) => stranger.listen(join(folder, "gate.sock"), resolve));
      onTestFinished(() => void stranger.close());
    };
    const HEAD = "HTTP/1.1 200 OK\r\nContent-Length: ";

    test.each([
      ["speaks first, and not HTTP", (to: Socket) => to.end("hello\r\n"), /not HTTP/],
      ["closes the connection", (to: Socket) => to.end(), /not HTTP/],
      ["resets the connection", (to: Socket) => void to.destroy(), /^Blocked by gate: /],
      ["ends its answer early", afterRequest((to) => to.end(`${HEAD}10\r\n\r\n{}`)), /cut off/],
      ["never ends its answer", afterRequest(flood), /too long/],
      [
        "answers other JSON that is cut off",
        afterRequest((to) => to.end(`${HEAD}9\r\n\r\n{"go":"on"}`)),
        /cut off/,
      ],
      [
        "answers JSON that is not a decision",
        afterRequest((to) => to.end(`${HEAD}7\r\n\r\n{"a":1}`)),
        /cannot be understood/,
      ],
    ])("that %s the call is refused", async (_name, answer, reason) => {
      await listen(answer);
      const refusal = await ask("claude-code", call("claude-code", "echo hi"));
      expect(refusal.reason).toMatch(reason);
    });

    test.each([
      ["receives 408", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"],
      ["is closed", ""],
    ])("an early connection that %s is opened again", async (_name, early) => {
      const [program, ...args] = world.command(["hook", "claude-code"]);
      let connections = 0;
      await listen((socket) => {
        socket.on("error", () => {});
        if (++connections > 1) {
          return void socket.once("data", () => socket.end(`${HEAD}2\r\n\r\n{}`));
        }
        // The hook may notice the close before or after its input.
        socket.on("close", () => child.stdin.end(JSON.stringify(call("claude-code", "echo hi"))));
        socket.resume().end(early);
      });
      // It connects at once, so the socket is there before it starts.
      const child = spawn(program!, args, { cwd: world.project, env: world.env });
      let stdout = "";
      child.stdout.on("data", (piece) => stdout += piece);
      const code = await new Promise((resolve) => child.on("close", resolve));
      expect({ code, stdout, connections }).toEqual({ code: 0, stdout: "{}\n", connections: 2 });
    });

    test("input that arrives in pieces is read to its end", async () => {
      const text = JSON.stringify(call("claude-code", "echo hi"));
      const [program, ...args] = world.command(["hook", "claude-code"]);
      let heard = "";
      await listen((socket) => {
        // The hook connects before it has read all its input.
        child.stdin.end(text.slice(20));
        let request = "";
        socket.on("data", (piece) => {
          request += piece;
          if (!request.endsWith(text)) return;
          heard = request;
          socket.end(`${HEAD}2\r\n\r\n{}`);
        });
      });
      const child = spawn(program!, args, { cwd: world.project, env: world.env });
      child.stdin.write(text.slice(0, 20));
      let stdout = "";
      child.stdout.on("data", (piece) => stdout += piece);
      const code = await new Promise((resolve) => child.on("close", resolve));
      expect({ code, stdout }).toEqual({ code: 0, stdout: "{}\n" });
      expect(heard).toMatch(/^POST \/api\/hooks\/claude-code\?/);
    });
  });

  test("wrong usage exits with 64, and --help names the hosts", async () => {
    for (
      const args of [["hook"], ["hook", "zed"], ["hook", "no\r\nhost"], ["hook", "codex", "more"]]
    ) {
      expect(await world.run(args)).toMatchObject({ code: 64, stdout: "" });
    }
    // A host that only a newer gate knows takes 64 for a failure of no weight, and runs the tool.
    expect(await world.run(["hook", "zed"], { input: '{"tool_name":"Bash"}' }))
      .toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining('no hooks for "zed"'),
      });
    const { stdout } = must(await world.run(["hook", "--help"]));
    for (const host of HOSTS) expect(stdout).toContain(host);
  });
});

/** Waits for the first bytes of a request, then answers. */
function afterRequest(answer: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => void socket.on("error", () => {}).once("data", () => answer(socket));
}

function flood(socket: Socket): void {
  const more = () => {
    while (socket.writable && socket.write("x".repeat(65_536)));
  };
  socket.on("drain", more);
  socket.write("HTTP/1.1 200 OK\r\n\r\n");
  more();
}
