import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test, vi } from "vitest";
import { engineOnce } from "../../../server/sandbox/engine.ts";
import { WaitingSandbox } from "../../../server/runtime/waiting_sandbox.ts";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { until } from "../../e2e/world.ts";
import { createTestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { connect, connectAgent } from "./agent.ts";
import { ENGINE } from "./stage.ts";

const FILES = { ".env": "KEY=SECRET\n", "src/a.txt": "one\n", "api/.env": "KEY=SECRET\n" };
/** Prints a blocked file whose name stands nowhere in the text. */
const COMPUTED = "python3 -c \"open('src/b.txt','w').write('made'); " +
  "print(open('.'+'e'+'nv').read())\"";

const CREATES = "python3 -c \"import os; os.makedirs('new'); " +
  "[open('new/'+n, 'w').write('made') for n in ('.'+'env', 'x.p'+'em', 'plain')]\"";

const PLANTS = "python3 -c \"import os; os.makedirs('.venv/bin'); os.chdir('.venv/bin')\n" +
  "os.symlink(os.path.realpath('/usr/bin/python3'), 'python3')\n" +
  "for n in ('pytest-x', 'git'): open(n, 'w').write('#!/bin/sh\\n'); os.chmod(n, 0o755)\"";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const sandboxed = { policies: policyTemplate("balanced"), files: FILES, sandbox: engineOnce() };

describe.runIf(ENGINE !== null)("over MCP, with an engine", () => {
  test("a command that no text can prove runs without a question, and reads no secret", async () => {
    const gate = await createTestGate(sandboxed);
    const run = await connect(gate);
    const done = await run(COMPUTED, { wait_ms: 15_000 });
    expect(done).toMatchObject({ status: "approved", execution: "failed", exit_code: 1 });
    expect(done.decision).toMatchObject({ effect: "allow", sandbox: { engine: "bubblewrap" } });
    expect(done.output).not.toContain("SECRET");
    expect(done.output).toContain("Permission denied");
    expect(done.walls).toEqual([expect.stringContaining('".env" is hidden')]);
    expect(done.message).toContain("outside_sandbox: true");
    expect(readFileSync(join(gate.root, "src/b.txt"), "utf8")).toBe("made");
    const types = (await gate.audit()).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("action.")))
      .toEqual(["action.submitted", "action.approved", "action.started", "action.finished"]);
  });

  test("the sandbox of the next command is begun ahead, for whichever agent it comes from", async () => {
    const take = vi.spyOn(WaitingSandbox.prototype, "take");
    const gate = await createTestGate(sandboxed);
    const [one, other] = [await connect(gate), await connect(gate)];
    await one(COMPUTED, { wait_ms: 15_000 });
    const waiting = take.mock.contexts[0] as WaitingSandbox;
    await until("a process is begun", () => waiting.hasBegun || undefined);
    const done = await other(COMPUTED, { wait_ms: 15_000 });
    expect(done.output).toContain("Permission denied");
    expect(take.mock.results[1]!.value).toMatchObject({ was_built: false });
  });

  test("a file of the home that the sandbox hides is told, also on the card", async () => {
    const gate = await createTestGate(sandboxed);
    const run = await connect(gate);
    const command = "python3 -c \"import os; print(open(os.path.expanduser('~/.toolrc')).read())\"";
    const done = await run(command, { wait_ms: 15_000 });
    const wall = expect.stringMatching(/\.toolrc" is hidden, or is not there at all$/);
    expect(done).toMatchObject({ execution: "failed", walls: [wall] });
    const reason = "the tool needs its settings";
    const held = await run(command, { outside_sandbox: true, reason, wait_ms: 0 });
    const card = await (await gate.request("GET", `/api/actions/${held.action_id}`)).json();
    expect(card.outside).toMatchObject({ reason, earlier: { met: [wall] } });
  });

  test("a link that a command puts into git's folder leads no later git out", async () => {
    const gate = await createTestGate(sandboxed);
    const folder = gate.root;
    const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" });
    git("init", "-q");
    gate.write(".git/objects/info/alternates", "/var/empty\n");
    const run = await connect(gate);
    const plants = "import os; os.chdir('.git')\n" +
      "os.symlink('../.env', 'MERGE_MSG'); os.symlink('../made', 'COMMIT_EDITMSG')\n" +
      "open('objects/info/alternates', 'a').write('../../src\\n')\n";
    gate.write("src/plant.py", plants);
    const done = await run("python3 src/plant.py", { wait_ms: 15_000 });
    expect(done).toMatchObject({ status: "approved", execution: "succeeded" });
    for (const name of ["MERGE_MSG", "COMMIT_EDITMSG", "alternates"]) {
      expect(done.message).toContain(name);
    }
    expect(readFileSync(join(folder, ".git/objects/info/alternates"), "utf8"))
      .toBe("/var/empty\n");
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    git(...author, "commit", "-q", "--allow-empty", "-m", "plain");
    expect(existsSync(join(folder, "made"))).toBe(false);
  });

  test("no file of another folder is moved away through a folder that a command swaps", async () => {
    const gate = await createTestGate(sandboxed);
    const other = createTempFolder("gate-other-");
    writeFileSync(join(other, ".env"), "of a person");
    gate.write(
      "src/swap.py",
      "import ctypes, os, time\n" +
        "os.mkdir('src/d'); os.symlink(" + JSON.stringify(other) + ", 'src/l')\n" +
        "libc = ctypes.CDLL(None); end = time.time() + 6\n" +
        "while time.time() < end: libc.renameat2(-100, b'src/d', -100, b'src/l', 2)\n",
    );
    gate.write(
      "src/make.py",
      "for _ in range(200):\n" +
        "  try: open('src/d/.env', 'x').close()\n" +
        "  except OSError: pass\n",
    );
    const run = await connect(gate);
    const swapping = run("python3 src/swap.py", { wait_ms: 15_000 });
    for (let attempt = 0; attempt < 3; attempt++) {
      // A later one may be held: the other command can move a folder with a blocked file.
      await run("python3 src/make.py", { wait_ms: 0 });
      expect(readFileSync(join(other, ".env"), "utf8")).toBe("of a person");
    }
    await swapping;
    expect(readFileSync(join(other, ".env"), "utf8")).toBe("of a person");
  });

  test("a blocked file that the command creates is moved away and told", async () => {
    const gate = await createTestGate(sandboxed);
    const run = await connect(gate);
    const done = await run(CREATES, { wait_ms: 15_000 });
    expect(done).toMatchObject({ status: "approved", execution: "succeeded" });
    expect(existsSync(join(gate.root, "new/.env"))).toBe(false);
    expect(existsSync(join(gate.root, "new/x.pem"))).toBe(false);
    expect(done.message).toContain("new/.env");
    expect(done.message).not.toContain("blocked this session");
    const event = (await gate.audit()).find(({ type }) => type === "guard.restored");
    const paths = (event!.data as { paths: { path: string; quarantine: string }[] }).paths;
    expect(paths.map(({ path }) => path.slice(gate.root.length + 1)).sort())
      .toEqual(["new/.env", "new/x.pem"]);
    for (const { quarantine } of paths) expect(readFileSync(quarantine, "utf8")).toBe("made");
    expect(existsSync(join(gate.root, "new/plain"))).toBe(true);
    expect(await run("true")).toMatchObject({ status: "approved", execution: "succeeded" });
  });

  test("a proved command runs in the sandbox too while another one does, and says so", async () => {
    const gate = await createTestGate({
      ...sandboxed,
      policies: { ...policyTemplate("balanced"), commandTimeoutSeconds: 60 },
    });
    const key = join(gate.root, "../key.txt");
    writeFileSync(key, "SECRET\n");
    const [run, other] = [await connect(gate), await connect(gate)];
    const swap = "python3 -c \"import os, time; os.unlink('src/a.txt'); " +
      `os.symlink('${key}', 'src/a.txt'); open('src/ready', 'w').close()\n` +
      "while not os.path.exists('src/go'): time.sleep(0.01)\"";
    const swapping = other(swap, { wait_ms: 30_000 });
    await vi.waitFor(() => expect(existsSync(join(gate.root, "src/ready"))).toBe(true), 60_000);
    const proved = await run("wc -l src/ready", { wait_ms: 15_000 });
    expect(proved).toMatchObject({
      execution: "succeeded",
      decision: { effect: "allow", sandbox: { engine: "bubblewrap" } },
    });
    writeFileSync(join(gate.root, "src/go"), "");
    expect(await swapping).toMatchObject({ execution: "succeeded" });
    const started = (await gate.audit()).filter(({ type }) => type === "action.started");
    expect(started.at(-1)!.data).toMatchObject({ sandbox: { engine: "bubblewrap" } });
    const after = await run("wc -l src/ready", { wait_ms: 15_000 });
    expect(after).toMatchObject({ execution: "succeeded", decision: { sandbox: null } });
  });

  test.each([
    ["core.hooksPath", "tools", "git commit --allow-empty -m x"],
    ["include.path", "../tools/settings", "git diff"],
    ["filter.x.clean", "sh tools/pre-commit", "git add src/a.txt"],
    ["user.nickname", "a", "git commit --allow-empty -m x"],
  ])("with %s, git runs programs of the project only in the sandbox", async (key, value, git) => {
    const gate = await createTestGate(sandboxed);
    const shell = (...args: string[]) => execFileSync("git", args, { cwd: gate.root });
    if (!existsSync(join(gate.root, ".git"))) shell("init", "-q");
    shell("config", "user.name", "a");
    shell("config", "user.email", "a@b.c");
    shell("config", key, value);
    gate.write("tools/pre-commit", "#!/bin/sh\ntouch ran; touch ~/ran");
    chmodSync(join(gate.root, "tools/pre-commit"), 0o755);
    gate.write("tools/settings", "[diff]\n\texternal = touch ran; true");
    gate.write(".gitattributes", "src/* filter=x");
    const run = await connect(gate);
    const done = await run(git, { wait_ms: 15_000 });
    expect(done).toMatchObject({ status: "approved", execution: "succeeded" });
    const { sandbox } = done.decision as { sandbox: unknown };
    expect(sandbox !== null).toBe(key !== "user.nickname");
  });

  test("a program in PATH that would start in the place of git is moved away, and told", async () => {
    const gate = await createTestGate(sandboxed);
    vi.stubEnv("PATH", `${gate.root}/.venv/bin:${process.env["PATH"]}`);
    const run = await connect(gate);
    const done = await run(PLANTS, { wait_ms: 15_000 });
    expect(done).toMatchObject({ execution: "succeeded", decision: { sandbox: {} } });
    expect(readdirSync(join(gate.root, ".venv/bin")).sort()).toEqual(["pytest-x", "python3"]);
    expect(done.message).toContain(".venv/bin/git");
  });

  test("it is moved away before a command outside starts, while its own command runs", async () => {
    const gate = await createTestGate(sandboxed);
    vi.stubEnv("PATH", `${gate.root}/.venv/bin:${process.env["PATH"]}`);
    const [run, other] = [await connect(gate), await connect(gate)];
    const waits = `${PLANTS}; until [ -e src/go ]; do sleep 0.01; done`;
    const planting = other(waits, { wait_ms: 30_000 });
    const planted = join(gate.root, ".venv/bin/git");
    await vi.waitFor(() => expect(existsSync(planted)).toBe(true), 60_000);
    const outside = { outside_sandbox: true, reason: "the real git", wait_ms: 0 };
    const held = await run("git fetch", outside);
    expect(held.status).toBe("pending");
    const { digest } = await (await gate.request("GET", `/api/actions/${held.action_id}`)).json();
    const at = `/api/actions/${held.action_id}`;
    const approved = await gate.request("POST", `${at}/approve`, { expected_digest: digest });
    expect(approved.status).toBe(200);
    const claim = await gate.request("POST", `${at}/claim`, { sandbox: true }, "reviewer");
    expect(claim.status).toBe(200);
    expect(existsSync(planted)).toBe(false);
    writeFileSync(join(gate.root, "src/go"), "");
    expect(await planting).toMatchObject({ execution: "succeeded" });
  });

  test("what a command writes to /tmp is its session's own, and later commands see it", async () => {
    const gate = await createTestGate(sandboxed);
    const run = await connect(gate);
    const path = `/tmp/gate-own-${crypto.randomUUID()}`;
    try {
      const written = await run(`echo one > ${path}`, { wait_ms: 15_000 });
      expect(written).toMatchObject({ execution: "succeeded", decision: { effect: "allow" } });
      expect(written.message).toContain("/tmp is this session's own in the sandbox");
      expect(existsSync(path)).toBe(false);
      // The text of both proves them harmless, so else they would run outside.
      for (const command of [`cat ${path}`, `cat ${path}*`]) {
        const read = await run(command, { wait_ms: 15_000 });
        expect(read).toMatchObject({
          output: "one\n",
          decision: { sandbox: { network: "loopback" } },
        });
      }
      const other = await (await connect(gate))(`cat ${path}`, { wait_ms: 15_000 });
      expect(other).toMatchObject({ execution: "failed", decision: { sandbox: null } });
      // The newer one of two files counts.
      writeFileSync(path, "older\n");
      utimesSync(path, 1, 1);
      expect(await run(`cat ${path}`, { wait_ms: 15_000 })).toMatchObject({ output: "one\n" });
      writeFileSync(path, "newer\n");
      utimesSync(path, 4_000_000_000, 4_000_000_000);
      expect(await run(`cat ${path}`, { wait_ms: 15_000 })).toMatchObject({ output: "newer\n" });
      expect((await run(`rm ${path} && npm publish`)).status).toBe("blocked");
      expect(readFileSync(path, "utf8")).toBe("newer\n");
    } finally {
      rmSync(path, { force: true });
    }
  });

  test("packages of the project that a rule allows by name run in the sandbox", async () => {
    const gate = await createTestGate(sandboxed);
    const run = await connect(gate);
    await run(
      "python3 -c \"import os; os.makedirs('node_modules/.bin'); t = 'node_modules/.bin/tsc'\n" +
        "open(t, 'w').write('#!/bin/sh\\necho planted'); os.chmod(t, 0o755)\"",
      { wait_ms: 15_000 },
    );
    expect(await run("npx tsc --version", { wait_ms: 15_000 }))
      .toMatchObject({ status: "approved", decision: { sandbox: { engine: "bubblewrap" } } });
  });

  test.each([
    ["tools/build", "./tools/build"],
    ["bin/build", "bin/build --fast"],
  ])(
    "a program of the project that a rule allows runs in the sandbox: %s",
    async (file, command) => {
      const template = policyTemplate("balanced");
      const allowed = template.allowedCommands ?? [];
      const gate = await createTestGate({
        ...sandboxed,
        policies: { ...template, allowedCommands: [...allowed, "build", `./${file}`, file] },
      });
      const run = await connect(gate);
      await run(
        `python3 -c "import os; os.makedirs(os.path.dirname('${file}')); f = '${file}'\n` +
          "open(f, 'w').write('#!/bin/sh\\necho planted'); os.chmod(f, 0o755)\"",
        { wait_ms: 15_000 },
      );
      expect(await run(command, { wait_ms: 15_000 }))
        .toMatchObject({ output: "planted\n", decision: { sandbox: { engine: "bubblewrap" } } });
      expect(await run("wc -l src/a.txt", { wait_ms: 15_000 })).toMatchObject({
        decision: { sandbox: null },
      });
    },
  );

  test.each([
    ["make", "Makefile", "all:\n\t@echo planted"],
    ["timeout 9 make", "Makefile", "all:\n\t@echo planted"],
    ["python3 tool.py", "tool.py", "print('planted')"],
    ["bash tool.sh", "tool.sh", "echo planted"],
    ["perl tool.pl", "tool.pl", "print qq(planted\n)"],
    ["node tool.js", "tool.js", "console.log('planted')"],
    ["npm test --silent", "package.json", '{"scripts":{"test":"echo planted"}}'],
    ["cd src && python3 -m tool", "src/tool.py", "print('planted')"],
  ])(
    "code of the project that a rule allows by name runs in the sandbox: %s",
    async (command, file, text) => {
      const template = policyTemplate("balanced");
      const allowed = [
        ...template.allowedCommands ?? [],
        command.replace(/^.*(&& |timeout 9 )/, ""),
      ];
      const gate = await createTestGate({
        ...sandboxed,
        files: { ...FILES, [file]: text },
        policies: { ...template, allowedCommands: [...allowed, "timeout", "cd"] },
      });
      const run = await connect(gate);
      expect(await run(command, { wait_ms: 15_000 }))
        .toMatchObject({ output: "planted\n", decision: { sandbox: { engine: "bubblewrap" } } });
    },
  );

  test("outside the sandbox, such code waits for a person although a rule allows it", async () => {
    const template = policyTemplate("balanced");
    const gate = await createTestGate({
      ...sandboxed,
      files: { ...FILES, Makefile: "all:\n\t@echo planted" },
      policies: { ...template, allowedCommands: [...template.allowedCommands ?? [], "make"] },
    });
    const run = await connect(gate);
    const outside = { outside_sandbox: true, reason: "it needs the network" };
    const held = await run("make", { ...outside, wait_ms: 0 });
    expect(held).toMatchObject({ status: "pending", decision: { rule: { list: "sandbox" } } });
    expect((held.decision as { reason: string }).reason).toContain("sandboxed commands can change");
    expect(await run("wc -l src/a.txt", { ...outside, wait_ms: 15_000 }))
      .toMatchObject({ execution: "succeeded", decision: { effect: "allow", sandbox: null } });
  });

  test.each(["python3 -c 'print(1)'", "node -p 1", "make --version"])(
    "code that the text holds whole runs outside: %s",
    async (command) => {
      const run = await connect(await createTestGate(sandboxed));
      expect(await run(command, { wait_ms: 15_000 }))
        .toMatchObject({ execution: "succeeded", decision: { effect: "allow", sandbox: null } });
    },
  );

  test("a sandboxed command starts when no proved one runs any more", async () => {
    const gate = await createTestGate(sandboxed);
    const key = join(gate.root, "../key.txt");
    writeFileSync(key, "SECRET\n");
    const [run, other] = [await connect(gate), await connect(gate)];
    const reading = run("sleep 1 && cat src/a.txt", { wait_ms: 15_000 });
    await vi.waitFor(async () => {
      expect((await gate.audit()).some(({ type }) => type === "action.started")).toBe(true);
    }, 60_000);
    const swapped = await other(
      `python3 -c "import os; os.unlink('src/a.txt'); os.symlink('${key}', 'src/a.txt')"`,
      { wait_ms: 15_000 },
    );
    expect(await reading).toMatchObject({ execution: "succeeded", output: "one\n" });
    expect(swapped).toMatchObject({ execution: "succeeded" });
  });

  test("what a person approves runs outside", async () => {
    const gate = await createTestGate({
      ...sandboxed,
      policies: { ...policyTemplate("balanced"), sandbox: { mode: "off" } },
    });
    const run = await connect(gate);
    const held = await run(COMPUTED, { wait_ms: 0 });
    expect(held).toMatchObject({ status: "pending", decision: { sandbox: null } });
  });

  test.each([
    ["auto", "python3 -c \"open('src/'+'ran', 'w').close()\""],
    ["always", "touch src/ran"],
    ["always", "python3 -c \"open('src/'+'ran', 'w').close()\""],
  ])(
    "%s: what needs more walls than a sandbox holds is asked, says why and runs outside: %s",
    async (mode, command) => {
      const many = Object.fromEntries(
        Array.from({ length: 450 }, (_, at) => [`many/${at}/.env`, "KEY=SECRET\n"]),
      );
      const gate = await createTestGate({
        ...sandboxed,
        policies: { ...policyTemplate("balanced"), sandbox: { mode: mode as "auto" | "always" } },
        files: { ...FILES, ...many },
      });
      const run = await connect(gate);
      const held = await run(command, { wait_ms: 0 });
      expect(held).toMatchObject({
        status: "pending",
        decision: { effect: "ask", sandbox: null, reason: expect.stringMatching(/45\d hidden/) },
      });
      const tested = await gate.request("POST", "/api/policy/test", { command });
      expect(await tested.json()).toMatchObject({
        ...{ effect: "ask", sandbox: null, sandbox_refused: expect.stringMatching(/45\d hidden/) },
        reason: expect.stringContaining("the sandbox does not answer it"),
      });
      expect(existsSync(join(gate.root, "src/ran"))).toBe(false);
      const { digest } = await (await gate.request("GET", `/api/actions/${held.action_id}`)).json();
      const approved = await gate.request("POST", `/api/actions/${held.action_id}/approve`, {
        expected_digest: digest,
      });
      expect(approved.status).toBe(200);
      const claim = await gate.request(
        "POST",
        `/api/actions/${held.action_id}/claim`,
        { sandbox: true },
        "reviewer",
      );
      expect(claim.status).toBe(200);
      expect(await claim.json()).toMatchObject({ walls: null, command });
      // As many as a sandbox holds: nobody is asked.
      rmSync(join(gate.root, "many"), { recursive: true });
      expect(await run(command, { wait_ms: 15_000 }))
        .toMatchObject({ status: "approved", decision: { sandbox: { engine: "bubblewrap" } } });
    },
  );

  test("a listed host is reached, what was asked for is recorded, and a closed one is told", async () => {
    const server = createServer((_, answer) => answer.end("SERVED"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const gate = await createTestGate({
      ...sandboxed,
      policies: { ...policyTemplate("balanced"), sandbox: { hosts: [`127.0.0.1:${port}`] } },
    });
    try {
      const run = await connect(gate);
      const fetches =
        "python3 -c \"import os, urllib.request as r; os.environ.pop('no_proxy', 0)\n" +
        "os.environ.pop('NO_PROXY', 0)\n" +
        `for u in ('http://127.0.0.1:${port}/', 'http://closed.test/'):\n` +
        "  try: print(r.urlopen(u).read())\n" +
        '  except Exception as e: print(e)"';
      const done = await run(fetches, { wait_ms: 20_000 });
      expect(done).toMatchObject({ execution: "succeeded", decision: { sandbox: {} } });
      expect(done.output).toBe("b'SERVED'\nHTTP Error 403: Forbidden\n");
      const asked = [
        { host: "127.0.0.1", port, answer: "connected" },
        { host: "closed.test", port: 80, answer: "refused" },
      ];
      expect(done.asked_hosts).toMatchObject(asked);
      expect(done.walls).toEqual([expect.stringContaining('"closed.test:80" is not among')]);
      expect(done.message).toContain("outside_sandbox: true");
      const finished = (await gate.audit()).find(({ type }) => type === "action.finished");
      expect(finished!.data).toMatchObject({ asked_hosts: asked });
    } finally {
      server.close();
    }
  });

  test("a command whose walls cannot be built fails and never runs", async () => {
    let there = true;
    const engine = engineOnce();
    const gate = await createTestGate({
      ...sandboxed,
      policies: { ...policyTemplate("balanced"), sandbox: { mode: "always" } },
      sandbox: async () => there ? await engine() : null,
    });
    const { actions } = gate.project;
    const { action } = await actions.submit(
      { tool: "run_command", input: { command: "touch src/ran" }, wait_ms: 0 },
      { id: "agent", scope: "agent" } as never,
    );
    expect(action).toMatchObject({
      status: "approved",
      decision: { sandbox: { engine: "bubblewrap" } },
    });
    there = false;
    const able = { sandbox: true };
    const claim = await gate.request("POST", `/api/actions/${action.id}/claim`, able, "agent");
    expect(claim.status).toBe(409);
    const after = await gate.request("GET", `/api/actions/${action.id}`);
    expect(await after.json()).toMatchObject({ execution: "failed" });
    expect(existsSync(join(gate.root, "src/ran"))).toBe(false);
  });

  test.each(["run_command", "await_action"])(
    "a command whose walls became too many before it starts is asked about: %s",
    async (by) => {
      const gate = await createTestGate(sandboxed);
      const { run, end } = await connectAgent(gate);
      const command = "python3 -c \"print('ra' + 'n')\"";
      expect(await run(command, { wait_ms: 15_000 })).toMatchObject({ execution: "succeeded" });
      const isLater = by === "await_action";
      const unstarted = isLater ? await run(command, { wait_ms: 0 }) : null;
      // The next submission trusts the look of a moment ago; its claim looks anew.
      for (let at = 0; at < 420; at++) {
        mkdirSync(join(gate.root, `many/${at}`), { recursive: true });
        writeFileSync(join(gate.root, `many/${at}/.env`), "KEY=SECRET\n");
      }
      const waiting = unstarted ? end(unstarted.action_id) : run(command, { wait_ms: 60_000 });
      const { actions } = gate.project;
      const held = await vi.waitFor(async () => {
        const { items } = await actions.list({ status: "pending", limit: 10 });
        expect(items).toHaveLength(1);
        return items[0]!;
      }, 30_000);
      expect(held.decision).toMatchObject({ effect: "ask" });
      expect(held.decision.reason).toContain("must be hidden or kept");
      const { digest: expected_digest } = held;
      await gate.request("POST", `/api/actions/${held.id}/reject`, {
        expected_digest,
        reason: "no",
      });
      expect(await waiting).toMatchObject({ action_id: held.id, status: "rejected" });
      const submitted = (await gate.audit()).filter(({ type }) => type === "action.submitted");
      expect(submitted).toHaveLength(3);
    },
  );

  test("what was moved away at a restart of the daemon is told when the command ends", async () => {
    const gate = await createTestGate({
      ...sandboxed,
      policies: { ...policyTemplate("balanced"), sandbox: { mode: "always" } },
    });
    const agent = { id: "agent", scope: "agent" } as never;
    const { action: { id } } = await gate.project.actions.submit(
      { tool: "run_command", input: { command: "pytest" }, wait_ms: 0 },
      agent,
    );
    const claim = await gate.project.actions.claim(id, { sandbox: true }, agent);
    // The command goes on while the daemon restarts.
    await gate.reopen(() => void gate.write("a/.env", "KEY=1\n"));
    expect(existsSync(join(gate.root, "a/.env"))).toBe(false);
    gate.write("b/.env", "KEY=2\n");
    const report = { claim_id: claim!.claim_id, exit_code: 0, output: "", truncated: false };
    const { status } = await gate.request(
      "POST",
      `/api/actions/${id}/result`,
      { ...report, duration_ms: 1 },
      "agent",
    );
    expect(status).toBe(200);
    const { restored } = await (await gate.request("GET", `/api/actions/${id}`)).json();
    expect(restored.map(({ path }: { path: string }) => path))
      .toEqual([join(gate.root, "a/.env"), join(gate.root, "b/.env")]);
  });

  test("a process that cannot start a sandbox does not get a command that needs one", async () => {
    const gate = await createTestGate({
      ...sandboxed,
      policies: { ...policyTemplate("balanced"), sandbox: { mode: "always" } },
    });
    const { actions } = gate.project;
    const { action } = await actions.submit(
      { tool: "run_command", input: { command: "touch src/ran" }, wait_ms: 0 },
      { id: "agent", scope: "agent" } as never,
    );
    const claim = await gate.request("POST", `/api/actions/${action.id}/claim`, {}, "agent");
    expect(claim.status).toBe(409);
    expect((await claim.json()).detail).toContain("restart the agent's host");
    const after = await gate.request("GET", `/api/actions/${action.id}`);
    expect(await after.json()).toMatchObject({
      execution: "failed",
      error: expect.stringContaining("cannot start a sandbox"),
    });
  });
});

test("without an engine: commands are judged as before", async () => {
  const gate = await createTestGate({ ...sandboxed, sandbox: () => Promise.resolve(null) });
  const run = await connect(gate);
  const held = await run(COMPUTED, { wait_ms: 0 });
  expect(held).toMatchObject({ status: "pending", execution: "none", decision: { sandbox: null } });
});
