import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openConnection } from "../../../cli/connect.ts";
import type { Action } from "../../../server/actions/schema.ts";
import { unwrap } from "../../../server/client.ts";
import { until } from "../../e2e/world.ts";
import { createTerminal, type Ended, type TestTerminal } from "../terminal.ts";

vi.setConfig({ testTimeout: 60_000 });

const CONFIG = {
  id: "web",
  version: "2",
  policies: {
    defaultEffect: "ask",
    allowedPaths: ["src/**"],
    blockedPaths: [{ pattern: ".env", reason: "secrets stay here", alternative: "ask" }],
    allowedCommands: ["ls"],
  },
};

let terminal: TestTerminal;
let project: string;
beforeAll(async () => {
  terminal = await createTerminal();
  project = join(terminal.folder, "project");
  writeFileSync(join(project, "gate.config.json"), JSON.stringify(CONFIG));
  await good("daemon", "start");
  await good("init", "--yes");
});
afterAll(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

async function good(...args: string[]): Promise<Ended> {
  const ended = await terminal.run(args);
  expect(ended, args.join(" ")).toMatchObject({ code: 0 });
  return ended;
}

// deno-lint-ignore no-explicit-any
const json = async (...args: string[]): Promise<any> => JSON.parse((await good(...args)).stdout);

/** What an agent of that name submits. */
async function submit(tool: string, input: Record<string, unknown>): Promise<Action> {
  const around = { env: terminal.env, cwd: project, pid: 1 };
  const { client } = await openConnection(around, { scope: "agent", start: false });
  return await unwrap(client.api.actions.$post({ json: { tool, input } }));
}

const write = (path: string, content: string) => submit("write_file", { path, content });
const onDisk = (path: string) => {
  const file = join(project, path);
  return existsSync(file) ? readFileSync(file, "utf8") : null;
};

test("pending, show, approve: what is held happens once it is approved", async () => {
  expect((await good("pending")).stdout).toBe("Nothing is waiting.\n");
  expect((await good("prompt")).stdout).toBe("");
  const held = await write("held.txt", "now\n");
  expect(held.status).toBe("pending");
  expect(await json("pending", "--json")).toMatchObject([{ id: held.id }]);
  expect(await json("pending", "--json", "--project", "other")).toEqual([]);
  expect((await good("pending")).stdout).toContain(`${held.id}`);
  expect((await good("prompt")).stdout).toBe("gate:1\n");
  expect((await good("status")).stdout).toContain("1 waiting: gate pending");
  const shown = (await good("show", held.id)).stdout;
  for (const fact of ["held.txt", "pending", "web", held.digest, "now"]) {
    expect(shown).toContain(fact);
  }
  const wrong = await terminal.run(["approve", held.id, "--digest", "0".repeat(64)]);
  expect(wrong).toMatchObject({ code: 1, stdout: "" });
  expect(wrong.stderr).toContain("try: gate show <id>");
  expect(onDisk("held.txt")).toBeNull();
  expect((await good("approve", held.id, "--reason", "fine")).stdout).toContain("✓ approved");
  await until("it is on disk", () => onDisk("held.txt") === "now\n");
  const again = await terminal.run(["approve", held.id]);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(await json("show", held.id, "--json")).toMatchObject({
    reason: "fine",
    decided_by: "reviewer",
  });
});

test("reject tells why, and nothing happens", async () => {
  const held = await write("unwanted.txt", "x");
  await good("reject", held.id, "--reason", "not here");
  expect(await json("show", held.id, "--json"))
    .toMatchObject({ status: "rejected", reason: "not here" });
  expect(onDisk("unwanted.txt")).toBeNull();
});

test("an id may be given by a beginning that only it has", async () => {
  const [first, second] = [await write("a.txt", "a"), await write("b.txt", "b")];
  const shared = [...first!.id].findIndex((char, i) => char !== second!.id[i]);
  const both = await terminal.run(["show", first!.id.slice(0, shared)]);
  expect(both).toMatchObject({ code: 1 });
  expect(both.stderr).toContain(first!.id);
  expect(both.stderr).toContain(second!.id);
  const { items } = await json("api", "GET", "/api/global/actions?limit=500");
  const others = items.map(({ id }: { id: string }) => id).filter((id: string) => id !== first!.id);
  const own = [...first!.id].findIndex((_, at) =>
    others.every((id: string) => !id.startsWith(first!.id.slice(0, at + 1)))
  );
  await good("reject", first!.id.slice(0, own + 1), "--reason", "no");
  await good("reject", second!.id.toUpperCase(), "--reason", "no");
  expect((await json("show", first!.id.slice(0, own + 1), "--json")).status).toBe("rejected");
  const none = await terminal.run(["show", "ffffffff"]);
  expect(none).toMatchObject({ code: 1 });
  expect(none.stderr).toContain(`No action's id begins with "ffffffff"\n  try: gate log`);
});

test("rollback: dry run, the real one, and a conflict that is left alone", async () => {
  writeFileSync(join(project, "old.txt"), "old\n");
  const held = await write("old.txt", "new\n");
  await good("approve", held.id);
  await until("it is on disk", () => onDisk("old.txt") === "new\n");
  await until(
    "it is noted",
    async () => (await json("show", held.id, "--json")).execution === "succeeded",
  );
  expect((await good("rollback", held.id, "--dry-run")).stdout).toContain("would be restored");
  expect(onDisk("old.txt")).toBe("new\n");
  writeFileSync(join(project, "old.txt"), "mine since\n");
  const conflict = await terminal.run(["rollback", held.id]);
  expect(conflict).toMatchObject({ code: 1, stdout: "" });
  expect(onDisk("old.txt")).toBe("mine since\n");
  writeFileSync(join(project, "old.txt"), "new\n");
  expect((await good("rollback", held.id)).stdout).toContain("✓ restored: old.txt");
  expect(onDisk("old.txt")).toBe("old\n");
});

test("log and audit verify tell what happened", async () => {
  await write(".env", "KEY=1");
  const [newest] = await json("log", "--json", "-n", "1");
  expect(newest).toMatchObject({ status: "blocked", path: ".env" });
  expect((await good("log", "--status", "blocked")).stdout).toContain(".env");
  expect(await json("log", "--json", "--status", "cancelled")).toEqual([]);
  expect((await good("audit", "verify")).stdout).toMatch(/^✓ web: \d+ events/);
  expect(await json("audit", "verify", "--project", "web", "--json"))
    .toMatchObject({ ok: true, project_id: "web" });
  expect(await terminal.run(["audit", "verify", "--project", "none"])).toMatchObject({ code: 1 });
});

describe("what an agent says cannot act on the terminal", () => {
  const HOSTILE = "run \x1b[2J\x1b]52;c;aGk=\x07 \u202Etxt.exe\u200B";

  test.each([["pending"], ["log"], ["show"], ["watch"]])("gate %s", async (command) => {
    const held = await submit("run_command", { command: `echo '${HOSTILE}'` });
    expect(held.status).toBe("pending");
    let printed: string;
    if (command === "watch") {
      const watching = terminal.run(["watch"]);
      await until("it is shown", () => terminal.printed().includes(held.id));
      terminal.signal("SIGINT");
      printed = (await watching).stdout;
    } else printed = (await good(command, ...(command === "show" ? [held.id] : []))).stdout;
    expect(printed).toContain("[U+001B][2J");
    expect(printed).toContain("[U+202E]txt.exe[U+200B]");
    // deno-lint-ignore no-control-regex
    expect(printed).not.toMatch(/[\x1b\x07\u202e\u200b]/);
    const asJson = (await good("show", held.id, "--json")).stdout;
    // deno-lint-ignore no-control-regex
    expect(asJson).not.toMatch(/[\x1b\x07\u202e\u200b]/);
    expect(JSON.parse(asJson).command).toContain(HOSTILE);
    await good("reject", held.id, "--reason", "no");
  });
});

test("watch --json prints each held action once, as it comes", async () => {
  const watching = terminal.run(["watch", "--json", "--project", "web"]);
  const first = await write("w1.txt", "1");
  await until("the first is printed", () => terminal.printed().includes(first.id));
  const second = await write("w2.txt", "2");
  await until("the second is printed", () => terminal.printed().includes(second.id));
  terminal.signal("SIGINT");
  const { code, stdout } = await watching;
  expect(code).toBe(0);
  expect(stdout.trim().split("\n").map((line) => JSON.parse(line).id)).toEqual([
    first.id,
    second.id,
  ]);
  for (const { id } of [first, second]) await good("reject", id, "--reason", "no");
});

test("watch waits for a daemon that was stopped, and does not start it", async () => {
  const watching = terminal.run(["watch", "--json"]);
  const first = await write("w3.txt", "3");
  await until("the first is printed", () => terminal.printed().includes(first.id));
  const printed = terminal.printed;
  const other = await createTerminal({ GATE_HOME: join(terminal.folder, ".gate") });
  other.env.GATE_PORT = terminal.env.GATE_PORT;
  expect((await other.run(["daemon", "stop"])).stdout).toBe("Stopped.\n");
  expect(await other.run(["daemon", "status"])).toMatchObject({ code: 1 });
  expect((await other.run(["daemon", "start"])).stdout).not.toContain("already");
  const second = await write("w4.txt", "4");
  await until("the second is printed", () => printed().includes(second.id));
  terminal.signal("SIGINT");
  expect(await watching).toMatchObject({ code: 0 });
  for (const { id } of [first, second]) await good("reject", id, "--reason", "no");
  other.close();
});

describe("policy test", () => {
  test.each([
    [["--command", "ls -la"], "allow", 0],
    [["--command", "rm -rf /"], "deny", 1],
    [["--path", "src/a.ts", "--action", "write"], "allow", 0],
    [["--path", ".env", "--action", "write"], "deny", 1],
    [["--path", "ls", "--action", "command"], "allow", 0],
  ])("%j is %s", async (args, effect, code) => {
    const ended = await terminal.run(["policy", "test", ...args, "--json"]);
    expect(ended.code).toBe(code);
    expect(JSON.parse(ended.stdout).effect).toBe(effect);
    expect((await terminal.run(["policy", "test", ...args])).stdout).toMatch(
      new RegExp(`^${effect}: `),
    );
  });

  test("--stdin --jsonl answers line by line", async () => {
    const input = '{"command":"ls"}\n\n{"path":".env","action":"write"}\n{"command":"ls -l"}';
    const ended = await terminal.run(["policy", "test", "--stdin", "--jsonl"], { input });
    expect(ended.code).toBe(1);
    expect(ended.stdout.trim().split("\n").map((line) => JSON.parse(line).effect))
      .toEqual(["allow", "deny", "allow"]);
    const allowed = await terminal.run(["policy", "test", "--stdin", "--jsonl"], {
      input: '{"command":"ls"}\n',
    });
    expect(allowed.code).toBe(0);
  });

  test.each([
    ["not json", "Cannot read line 1: it is no JSON"],
    ["[]", "Cannot read line 1: it needs command, or path with action"],
    ['{"command":"ls"}\n{"comand":"ls"}', "Cannot read line 2"],
    ["{}", "Cannot read line 1: Nothing to test"],
  ])("wrong input %j is wrong usage", async (input, message) => {
    const ended = await terminal.run(["policy", "test", "--stdin", "--jsonl"], { input });
    expect(ended.code).toBe(64);
    expect(ended.stderr).toContain(message);
  });
});

describe("api", () => {
  test("attaches the credential, prints the body, exits 1 on a problem", async () => {
    expect(await json("api", "get", "/api/actions?count=true")).toEqual({ count: 0 });
    const body = '{"path": ".env", "action": "write"}';
    expect(await json("api", "POST", "/api/policy/test", "-d", body)).toMatchObject({
      effect: "deny",
    });
    writeFileSync(join(project, "body.json"), body);
    expect((await json("api", "POST", "/api/policy/test", "-d", "@body.json")).effect).toBe("deny");
    const piped = await terminal.run(["api", "POST", "/api/policy/test", "-d", "-"], {
      input: body,
    });
    expect(JSON.parse(piped.stdout).effect).toBe("deny");
    const missing = await terminal.run(["api", "GET", "/api/nothing"]);
    expect(missing).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(missing.stdout)).toMatchObject({ code: "not_found" });
    const forbidden = await terminal.run([
      ...["api", "POST", "/api/global/approvals/x/approve", "--scope", "agent", "-d", "{}"],
    ]);
    expect(forbidden.code).toBe(1);
    expect(JSON.parse(forbidden.stdout)).toMatchObject({ code: "forbidden" });
    const broken = await terminal.run(["api", "POST", "/api/policy/test", "-d", "{nope"]);
    expect(broken.code).toBe(1);
    expect(JSON.parse(broken.stdout)).toMatchObject({ code: "invalid" });
  });

  test("--include shows status and headers; a missing file is told", async () => {
    const { stdout } = await good("api", "GET", "/healthz", "-i");
    expect(stdout).toMatch(/^HTTP\/1\.1 200 OK\n/);
    expect(stdout).toContain("content-type: application/json");
    const absent = await terminal.run(["api", "POST", "/api/policy/test", "-d", "@absent.json"]);
    expect(absent).toMatchObject({ code: 1, stdout: "" });
    expect(absent.stderr).toContain('Cannot read "absent.json": it does not exist');
  });
});

test("dashboard --no-open prints a link that logs in once", async () => {
  const { stdout } = await good("dashboard", "--no-open");
  expect(stdout).toMatch(
    new RegExp(`^http://localhost:${terminal.env.GATE_PORT}/login\\?code=\\S+\n$`),
  );
  expect(await json("dashboard", "--no-open", "--json")).toEqual({ url: expect.any(String) });
});

test("a broken config denies, and says where it is broken", async () => {
  const file = join(project, "gate.config.json");
  writeFileSync(file, '{\n  "id": "web",\n  "policies": { "defaultEffect": "maybe" }\n}');
  const denied = await terminal.run(["policy", "test", "--command", "ls", "--json"]);
  expect(denied.code).toBe(1);
  expect(JSON.parse(denied.stdout).effect).toBe("deny");
  writeFileSync(file, '{\n  "id": "web",\n  oops\n}');
  const broken = await terminal.run(["policy", "test", "--command", "ls"]);
  expect(broken.code).toBe(1);
  expect(broken.stdout + broken.stderr).toMatch(/gate\.config\.json:3:3/);
  writeFileSync(file, JSON.stringify(CONFIG));
  expect((await terminal.run(["policy", "test", "--command", "ls"])).code).toBe(0);
});

test("project remove forgets; init brings it back with its ledger", async () => {
  const before = await json("log", "--json", "-n", "500");
  const held = await write("still.txt", "x");
  const refused = await terminal.run(["project", "remove", "web"]);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("held or being done");
  await good("reject", held.id, "--reason", "no");
  await good("project", "remove", "web");
  expect(await json("project", "list", "--json")).toEqual([]);
  expect(await terminal.run(["project", "remove", "web"])).toMatchObject({ code: 1 });
  await good("init", "--yes");
  expect(await json("log", "--json", "-n", "500")).toHaveLength(before.length + 1);
});
