import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { policyTemplate } from "../../server/policy/templates.ts";
import { findEngine } from "../../server/sandbox/engine.ts";
import { Agent } from "./agent.ts";
import { type Subject, until, World } from "./world.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;
const ENGINE = await findEngine({ confine: null });
if (ENGINE === null) console.error("NOT RUN: no sandbox engine here, so commands are held");

/** Reads a blocked file whose name stands nowhere in the text, and writes another one. */
const COMPUTED = "python3 -c \"open('made.txt','w').write('made'); print(open('.'+'env').read())\"";

describe(`a command that no text can prove, on ${SUBJECT}`, () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await World.create(SUBJECT);
    await world.init({ ...policyTemplate("balanced"), sandbox: { mode: "auto" } });
    world.write(".env", "KEY=SECRET\n");
    agent = await Agent.connect(world);
  });

  afterAll(async () => {
    await agent?.close();
    await world?.close();
  });

  test("runs in the sandbox without a question, or is held where there is none", async () => {
    const { data } = await agent.call("run_command", { command: COMPUTED, wait_ms: 20_000 });
    if (ENGINE === null) {
      expect(data).toMatchObject({ status: "pending", decision: { sandbox: null } });
      return;
    }
    expect(data).toMatchObject({
      status: "approved",
      exit_code: 1,
      decision: { effect: "allow", sandbox: { engine: "bubblewrap" } },
    });
    expect(String(data["output"])).not.toContain("SECRET");
    expect(String(data["message"])).toContain('".env" is hidden');
    expect(readFileSync(join(world.project, "made.txt"), "utf8")).toBe("made");
    expect(existsSync(join(world.project, ".env"))).toBe(true);
  });

  test.runIf(ENGINE !== null)(
    "reaches a listed host through gate itself, and no other",
    async () => {
      const server = createServer((_, answer) => answer.end("SERVED"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      const other = await World.create(SUBJECT);
      try {
        const sandbox = { mode: "auto", hosts: [`127.0.0.1:${port}`] };
        await other.init({ ...policyTemplate("balanced"), sandbox });
        const caller = await Agent.connect(other);
        const fetches =
          "python3 -c \"import os, urllib.request as r; os.environ.pop('no_proxy', 0)\n" +
          "os.environ.pop('NO_PROXY', 0)\n" +
          `for u in ('http://127.0.0.1:${port}/', 'http://closed.test/'):\n` +
          "  try: print(r.urlopen(u).read())\n" +
          '  except Exception as e: print(e)"';
        const { data } = await caller.call("run_command", { command: fetches, wait_ms: 30_000 });
        expect(data).toMatchObject({
          exit_code: 0,
          decision: { sandbox: { engine: "bubblewrap" } },
        });
        expect(data["output"]).toBe("b'SERVED'\nHTTP Error 403: Forbidden\n");
        expect(data["asked_hosts"]).toMatchObject([
          { host: "127.0.0.1", port, answer: "connected" },
          { host: "closed.test", port: 80, answer: "refused" },
        ]);
        await caller.close();
      } finally {
        server.close();
        await other.close();
      }
    },
  );
});

describe.runIf(ENGINE !== null)(`over a restart of the daemon, on ${SUBJECT}`, () => {
  test("a proved command that still runs keeps sandboxed ones waiting, until it is reported", async () => {
    const world = await World.create(SUBJECT);
    try {
      await world.init({
        defaultEffect: "ask",
        allowedCommands: ["sleep"],
        sandbox: { mode: "auto" },
      });
      const [proved, sandboxed] = [await Agent.connect(world), await Agent.connect(world)];
      // Its connection ends before it does.
      void proved.call("run_command", { command: "sleep 300", wait_ms: 60_000 }).catch(() => {});
      const { id } = await until("it runs", async () => {
        const { body } = await world.api("GET", "/api/actions");
        return body.items.find((one: { execution: string }) => one.execution === "running");
      });
      expect(await world.run(["daemon", "restart"])).toMatchObject({ code: 0 });
      const order = { command: "python3 -c \"print('ran')\"", wait_ms: 30_000 };
      const refused = await sandboxed.call("run_command", order);
      expect(refused.data).toMatchObject({ status: "approved", execution: "failed" });
      expect(refused.text).toContain("a command outside the sandbox works in the same project");
      await proved.close();
      await until("its end is reported", async () => {
        const { body } = await world.api("GET", `/api/actions/${id}`);
        return body.finished_at !== null && body.execution === "failed";
      });
      expect((await sandboxed.call("run_command", order)).data).toMatchObject({ exit_code: 0 });
      await sandboxed.close();
    } finally {
      await world.close();
    }
  });
});

describe.runIf(ENGINE !== null)(`the changes of a command, on ${SUBJECT}`, () => {
  test("wait for a person, who sees them and takes over a part in the terminal", async () => {
    const world = await World.create(SUBJECT);
    try {
      await world.init({ ...policyTemplate("balanced"), sandbox: { mode: "review" } });
      for (const name of ["a", "b"]) world.write(`${name}.txt`, "old\n");
      const agent = await Agent.connect(world);
      mkdirSync(join(world.project, "gone"));
      world.write(
        "do.py",
        "import os\nfor n in 'ab': open(n+'.txt','w').write('new '+n)\nos.symlink('a.txt','link'); os.chmod('b.txt', 0o755); os.rmdir('gone')\n",
      );
      const { data } = await agent.call("run_command", {
        command: "python3 do.py",
        wait_ms: 20_000,
      });
      const { action_id } = data["held_changes"] as { action_id: string };
      expect(data).toMatchObject({ exit_code: 0, held_changes: { files: 2 } });
      const read = () =>
        ["a", "b"].map((name) => readFileSync(join(world.project, `${name}.txt`), "utf8"));
      expect(read()).toEqual(["old\n", "old\n"]);
      const { stdout: shown, stderr: next } = await world.run(["show", action_id]);
      expect(next).toContain(`gate approve ${action_id} --take <path…>`);
      for (
        const fact of [
          "changes of",
          "python3 do.py",
          "new a",
          "new b",
          "mode 0644 → 0755",
          "removes",
          "gone",
          "gate takes over no links",
        ]
      ) {
        expect(shown).toContain(fact);
      }
      const other = await world.run(["approve", action_id, "--take", "c.txt"]);
      expect(other).toMatchObject({ code: 1 });
      expect(other.stderr).toContain('Cannot take over "c.txt"');
      const both = await world.run(["approve", action_id, "--take", "a.txt", "--edit"]);
      expect(both).toMatchObject({ code: 64 });
      const stale = await world.run(["approve", action_id, "--digest", "0".repeat(64)]);
      expect(stale).toMatchObject({ code: 1 });
      expect(read()).toEqual(["old\n", "old\n"]);
      const taken = await world.run(["approve", action_id, "--take", "b.txt"]);
      expect(taken).toMatchObject({ code: 0 });
      expect(read()).toEqual(["old\n", "new b"]);
      const again = await world.run(["approve", action_id, "--take", "a.txt"]);
      expect(again).toMatchObject({ code: 1 });
      await agent.close();
    } finally {
      await world.close();
    }
  });
});

/** Runs a program in a view of the machine in which bubblewrap is no program. */
const WITHOUT = [
  ...["/usr/bin/unshare", "-m", "/bin/sh", "-c"],
  ...['mount --bind /dev/null /usr/bin/bwrap && exec "$@"', "sh"],
];
const CAN_HIDE = SUBJECT === "executable" && process.getuid?.() === 0 &&
  existsSync("/usr/bin/bwrap") &&
  spawnSync(WITHOUT[0]!, [...WITHOUT.slice(1), "/bin/true"]).status === 0;
if (!CAN_HIDE) {
  console.error("NOT RUN: Landlock by the executable needs root and bubblewrap to hide");
}

describe.runIf(CAN_HIDE)("the executable on a machine without bubblewrap", () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await World.create(SUBJECT);
    world.use([...WITHOUT, ...world.command([])]);
    await world.init({ ...policyTemplate("balanced"), sandbox: { mode: "auto" } });
    agent = await Agent.connect(world);
  });

  afterAll(async () => {
    await agent?.close();
    await world?.close();
  });

  test("runs a command under Landlock, and doctor says so and how to have more", async () => {
    const { stdout } = await world.run(["doctor"]);
    expect(stdout).toMatch(
      /landlock \d+ can run commands in a sandbox, but it hides no single file/,
    );
    expect(stdout).toContain("install bubblewrap");
    const { data } = await agent.call("run_command", {
      command:
        "python3 -c \"open('made.txt','w').write('made'); print(open('/proc/self/status').read())\"",
      wait_ms: 20_000,
    });
    expect(data).toMatchObject({
      ...{ status: "approved", exit_code: 0 },
      decision: { effect: "allow", sandbox: { engine: "landlock", network: "none" } },
    });
    expect(data["output"]).toMatch(/CapEff:\s0+\nCapBnd:\s0+\n/);
    expect(data["output"]).toMatch(/NoNewPrivs:\s1\nSeccomp:\s2/);
    expect(readFileSync(join(world.project, "made.txt"), "utf8")).toBe("made");
    const shown = await world.run(["show", String(data["action_id"])]);
    expect(shown.stdout).toContain("Landlock holds it");
  });

  test("asks where a file must be hidden that only a mount could hide", async () => {
    world.write(".env", "KEY=SECRET\n");
    const { data } = await agent.call("run_command", { command: COMPUTED, wait_ms: 0 });
    expect(data).toMatchObject({ status: "pending", decision: { effect: "ask", sandbox: null } });
    expect(JSON.stringify(data)).toContain("can neither hide nor keep single files");
  });
});

/** Starts a program under a filter that refuses these system calls and new namespaces, as containers do. */
const CONTAINER = `import ctypes, os, struct, sys
EPERM, ENOSYS, ALLOW, NEW_NAMESPACE = 0x50001, 0x50026, 0x7fff0000, 0x7e020000
steps = [(0x20, 0, 0, 0)]
for call in sys.argv[1].split(','): steps += [(0x15, 0, 1, int(call)), (6, 0, 0, EPERM)]
steps += [(0x15, 0, 1, 435), (6, 0, 0, ENOSYS), (0x15, 0, 3, 56), (0x20, 0, 0, 16)]
steps += [(0x45, 0, 1, NEW_NAMESPACE), (6, 0, 0, EPERM), (6, 0, 0, ALLOW)]
code = b''.join(struct.pack('HBBI', *one) for one in steps)
kept = ctypes.create_string_buffer(code, len(code))
program = struct.pack('HxxxxxxQ', len(steps), ctypes.addressof(kept))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0): sys.exit(9)
os.execv(sys.argv[2], sys.argv[2:])
`;
/** unshare setns mount pivot_root, and what else Docker's default profile refuses: pidfd_getfd. */
const NAMESPACES = "272,308,165,155";
const DOCKER = `${NAMESPACES},438`;
const inContainer = (refused: string) => ["/usr/bin/python3", "-c", CONTAINER, refused];
const CAN_FILTER = SUBJECT === "executable" && process.arch === "x64" &&
  existsSync("/usr/bin/python3") &&
  spawnSync("/usr/bin/python3", [...inContainer(DOCKER).slice(1), "/bin/true"]).status === 0;
if (!CAN_FILTER) {
  console.error("NOT RUN: a container's filter needs the executable and Python on x64");
}

describe.runIf(CAN_FILTER)("the executable in a container", () => {
  test.each([
    ["that refuses namespaces", NAMESPACES, /landlock \d+ can run commands in a sandbox/],
    [
      "with Docker's default profile",
      DOCKER,
      /sandbox +none: bubblewrap .*; nor can it be Landlock: the kernel does not let gate answer its calls/,
    ],
  ])("%s says truly which engine it has, and judges commands so", async (_, refused, says) => {
    const world = await World.create(SUBJECT);
    let agent: Agent | null = null;
    try {
      world.use([...inContainer(refused), ...world.command([])]);
      await world.init({ ...policyTemplate("balanced"), sandbox: { mode: "auto" } });
      const { stdout } = await world.run(["doctor"]);
      expect(stdout).toMatch(says);
      agent = await Agent.connect(world);
      const command = "python3 -c \"open('made.txt','w').write('made')\"";
      const { data } = await agent.call("run_command", { command, wait_ms: 0 });
      expect(data).toMatchObject(
        refused === DOCKER
          ? { status: "pending", decision: { effect: "ask", sandbox: null } }
          : { status: "approved", decision: { effect: "allow", sandbox: { engine: "landlock" } } },
      );
    } finally {
      await agent?.close();
      await world.close();
    }
  });
});
