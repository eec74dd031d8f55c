import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test as plain } from "vitest";
import { SPEAK } from "../server/hooks/stage.ts";
import { askHook } from "./hook.ts";
import { must, World } from "./world.ts";

// Windows has no signal that freezes a process.
const describeHere = describe.skipIf(process.platform === "win32");

const test = plain.extend<{ world: World }>({
  // deno-lint-ignore no-empty-pattern
  world: async ({}, use) => {
    const world = await World.create("executable", { isBare: true });
    await world.init({ defaultEffect: "allow" });
    await use(world);
    await world.close();
  },
});

/** Uses the shipped deadlines, which are shorter than the test time-out. */
describeHere("gate hook refuses before its host stops waiting, run by the executable", () => {
  /** The refusal reason for every host. The hosts run at once because each waits for its deadline. */
  const reasons = (world: World) =>
    Promise.all(
      Object.entries(SPEAK).map(async ([host, { before, command }]) => {
        const call = before(command, { command: "ls" }, { cwd: world.project, key: "k" });
        return [host, (await askHook(world, host, call)).reason];
      }),
    );
  const everyHost = (reason: unknown) => Object.keys(SPEAK).map((host) => [host, reason]);

  test("when no daemon can start", async ({ world }) => {
    expect(await reasons(world)).toEqual(everyHost(undefined));
    world.env.GATE_HOME = "/dev/null";
    expect(await reasons(world)).toEqual(
      everyHost(expect.stringMatching(/^Blocked by gate: Cannot/)),
    );
    delete world.env.GATE_HOME;
  });

  test("when the token file is a pipe without a writer", async ({ world }) => {
    const token = join(world.gateHome, "tokens", "agent");
    makePipe(token);
    expect(await reasons(world)).toEqual(everyHost(expect.stringMatching(/token.* is damaged/)));
    must(await world.run(["daemon", "stop"]));
    expect(await reasons(world)).toEqual(
      everyHost(expect.stringMatching(/^Blocked by gate: Cannot/)),
    );
    rmSync(token);
  });

  test("when the token file is a symbolic link", async ({ world }) => {
    const token = join(world.gateHome, "tokens", "agent");
    renameSync(token, `${token}.real`);
    symlinkSync(`${token}.real`, token);
    expect(await reasons(world)).toEqual(
      everyHost(expect.stringMatching(/token.* is damaged. Delete/)),
    );
    must(await world.run(["daemon", "stop"]));
    expect((await world.run(["daemon", "start"])).stderr).toMatch(/token.* is damaged. Delete/);
    rmSync(token);
    must(await world.run(["daemon", "start"]));
    expect(await reasons(world)).toEqual(everyHost(undefined));
  });

  test.for(["daemon.json", "run/starting.json"])(
    "a pipe in place of %s does not stop the hook",
    async (name, { world }) => {
      must(await world.run(["daemon", "stop"]));
      makePipe(join(world.gateHome, name));
      expect(await reasons(world)).toEqual(everyHost(undefined));
    },
  );

  // Both wait for the same deadline.
  describe.concurrent("at its deadline", () => {
    test("when the daemon hangs", async ({ expect, world }) => {
      const answers = await world.whileFrozen(() => reasons(world));
      expect(answers).toEqual(everyHost("Blocked by gate: the daemon does not answer"));
      expect(await reasons(world)).toEqual(everyHost(undefined));
    });

    test("when the daemon answers one byte per second", async ({ expect, world }) => {
      must(await world.run(["daemon", "stop"]));
      const server = await startDripping(join(world.gateHome, "run"));
      expect(await reasons(world))
        .toEqual(everyHost("Blocked by gate: the daemon does not answer"));
      server.close();
    });
  });
});

function makePipe(path: string): void {
  rmSync(path, { force: true });
  execFileSync("mkfifo", ["-m", "600", path]);
}

async function startDripping(folder: string): Promise<Server> {
  mkdirSync(folder, { recursive: true });
  const drip = (socket: Socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{");
    const timer = setInterval(() => socket.write(" "), 1000);
    socket.on("close", () => clearInterval(timer));
  };
  const server = createServer(drip);
  await new Promise<void>((resolve) => server.listen(join(folder, "gate.sock"), resolve));
  return server;
}
