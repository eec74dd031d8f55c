import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openConnection } from "../../../cli/daemon/connect.ts";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";
import { createTerminal } from "../terminal.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

test("pending, show and prompt list a held write, and approve executes it", async () => {
  expect((await gated.good("pending")).stdout).toBe("No action is held.\n");
  expect((await gated.good("prompt")).stdout).toBe("");
  const held = await gated.write("held.txt", "now\n");
  expect(held.status).toBe("pending");
  expect(await gated.json("pending", "--json")).toMatchObject([{ id: held.id }]);
  expect(await gated.json("pending", "--json", "--project", "web")).toHaveLength(1);
  const other = await gated.terminal.run(["pending", "--project", "other"]);
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain(
    'Cannot find project "other": it is not registered\n  try: gate project list',
  );
  expect((await gated.good("pending")).stdout).toContain(`${held.id}`);
  expect((await gated.good("prompt")).stdout).toBe("gate:1\n");
  expect((await gated.good("status")).stdout).toContain("1 held action: gate pending");
  const shown = (await gated.good("show", held.id)).stdout;
  for (const fact of ["held.txt", "pending", "web", held.digest, "now"]) {
    expect(shown).toContain(fact);
  }
  const wrong = await gated.terminal.run(["approve", held.id, "--digest", "0".repeat(64)]);
  expect(wrong).toMatchObject({ code: 1, stdout: "" });
  expect(wrong.stderr).toContain(`try: gate show ${held.id}, then`);
  expect(gated.onDisk("held.txt")).toBeNull();
  expect((await gated.good("approve", held.id, "--reason", "fine")).stdout).toContain("✓ approved");
  await until("the file is written", () => gated.onDisk("held.txt") === "now\n");
  const again = await gated.terminal.run(["approve", held.id]);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(await gated.json("show", held.id, "--json")).toMatchObject({
    reason: "fine",
    decided_by: "reviewer",
  });
});

test("critical risk needs the typed name where the config says so", async () => {
  const config = join(gated.terminal.folder, ".gate", "config.json");
  const approvals = { proof: "token", type_to_confirm: "critical" };
  writeFileSync(config, JSON.stringify({ approvals }));
  const command = "terraform apply -auto-approve -var-file=prod.tfvars";
  const { id } = await gated.submit("run_command", { command });
  const bare = await gated.terminal.run(["approve", id]);
  expect(bare).toMatchObject({ code: 64, stderr: expect.stringContaining("--confirm terraform") });
  const wrong = await gated.terminal.run(["approve", id, "--confirm", "terra"]);
  expect(wrong).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("another text was typed"),
  });
  const typed = gated.terminal.run(["approve", id], { person: true });
  await until("the question", () => gated.terminal.printed().includes("Type terraform to approve"));
  for (const key of "terraform\r") gated.terminal.type(key);
  expect((await typed).code).toBe(0);
  expect((await gated.json("show", id, "--json")).status).toBe("approved");
  writeFileSync(config, JSON.stringify({ approvals: { proof: "token" } }));
});

test("reject needs a reason that says something", async () => {
  const held = await gated.write("empty.txt", "no\n");
  for (const reason of ["", "  \n"]) {
    expect(await gated.terminal.run(["reject", held.id, "--reason", reason])).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("--reason is empty"),
    });
  }
  expect(await gated.json("pending", "--json")).toMatchObject([{ id: held.id }]);
  await gated.good("reject", held.id, "--reason", "tested");
});

test("reject stores the reason and executes nothing; its mark is that of a success", async () => {
  const held = await gated.write("unwanted.txt", "x");
  const { stdout } = await gated.good("reject", held.id, "--reason", "not here");
  expect(stdout).toBe("✓ rejected: unwanted.txt\n");
  expect(await gated.json("show", held.id, "--json"))
    .toMatchObject({ status: "rejected", reason: "not here" });
  expect(gated.onDisk("unwanted.txt")).toBeNull();
});

test("approve takes several ids; a refused one stops no other", async () => {
  const [first, second, third] = [
    await gated.write("one.txt", "1"),
    await gated.write("two.txt", "2"),
    await gated.write("three.txt", "3"),
  ];
  await gated.good("reject", second!.id, "--reason", "not here");
  const ended = await gated.terminal.run(["approve", first!.id, second!.id, third!.id]);
  expect(ended).toMatchObject({ code: 1 });
  expect(ended.stdout).toMatch(/✓ approved.*one\.txt\n✓ approved.*three\.txt\n/);
  expect(ended.stderr).toContain(`Cannot approve action "${second!.id}"`);
  const [fourth, fifth] = [await gated.write("4.txt", "4"), await gated.write("5.txt", "5")];
  const approved = await gated.json("approve", fourth!.id, fifth!.id, "--json");
  expect(approved.map(({ id }: { id: string }) => id)).toEqual([fourth!.id, fifth!.id]);
  for (const only of [["--digest", "0".repeat(64)], ["--edit"]]) {
    const refused = await gated.terminal.run(["approve", fourth!.id, fifth!.id, ...only]);
    expect(refused, only[0]).toMatchObject({ code: 64, stdout: "" });
  }
});

test("commands accept a unique prefix of an id", async () => {
  const [first, second] = [await gated.write("a.txt", "a"), await gated.write("b.txt", "b")];
  const shared = [...first!.id].findIndex((char, i) => char !== second!.id[i]);
  const both = await gated.terminal.run(["show", first!.id.slice(0, shared)]);
  expect(both).toMatchObject({ code: 1 });
  expect(both.stderr).toContain(first!.id);
  expect(both.stderr).toContain(second!.id);
  const { items } = await gated.json("api", "GET", "/api/global/actions?limit=500");
  const others = items.map(({ id }: { id: string }) => id).filter((id: string) => id !== first!.id);
  const own = [...first!.id].findIndex((_, at) =>
    others.every((id: string) => !id.startsWith(first!.id.slice(0, at + 1)))
  );
  await gated.good("reject", first!.id.slice(0, own + 1), "--reason", "no");
  await gated.good("reject", second!.id.toUpperCase(), "--reason", "no");
  expect((await gated.json("show", first!.id.slice(0, own + 1), "--json")).status).toBe("rejected");
  const none = await gated.terminal.run(["show", "ffffffff"]);
  expect(none).toMatchObject({ code: 1 });
  expect(none.stderr).toContain(`no id begins with "ffffffff"\n  try: gate log`);
});

test.each([[[]], [["--json"]]])("approve exits with 1 if the execution fails %j", async (more) => {
  const { id } = await gated.submit("read_file", { path: "absent.txt" });
  const { code, stdout, stderr } = await gated.terminal.run(["approve", id, ...more]);
  expect(code).toBe(1);
  if (more.length > 0) {
    return expect(JSON.parse(stdout)).toMatchObject({ status: "approved", execution: "failed" });
  }
  expect(stdout).toBe("✗ approved, but the execution failed: absent.txt\n");
  expect(stderr).toContain('Cannot read "absent.txt": there is no such file');
});

test("rollback restores a file, previews with --dry-run, and refuses a conflict", async () => {
  writeFileSync(join(gated.folder, "old.txt"), "old\n");
  const held = await gated.write("old.txt", "new\n");
  await gated.good("approve", held.id);
  await until("the file is written", () => gated.onDisk("old.txt") === "new\n");
  await until(
    "the execution is recorded",
    async () => (await gated.json("show", held.id, "--json")).execution === "succeeded",
  );
  expect((await gated.good("rollback", held.id, "--dry-run")).stdout).toContain(
    "would be restored",
  );
  expect(gated.onDisk("old.txt")).toBe("new\n");
  writeFileSync(join(gated.folder, "old.txt"), "mine since\n");
  const conflict = await gated.terminal.run(["rollback", held.id]);
  expect(conflict).toMatchObject({ code: 1, stdout: "" });
  expect(conflict.stderr).toContain(
    `use --on-conflict merge or force\n  try: gate rollback ${held.id} --dry-run --on-conflict merge`,
  );
  expect(conflict.stderr).toMatch(
    /^--- old\.txt\n\+\+\+ old\.txt\n@@ .* @@\n-new\n\+mine since\ngate: /,
  );
  const unmerged = await gated.terminal.run(["rollback", held.id, "--on-conflict", "merge"]);
  expect(unmerged.stderr).toMatch(
    /cannot be merged; look at the diff, then use --on-conflict force\n {2}try: gate rollback \S+ --dry-run --on-conflict force\n/,
  );
  const whole = ["session", "rollback", held.session_id, "--only", held.id];
  const { stderr } = await gated.terminal.run(whole);
  expect(stderr).toMatch(
    /\n\+mine since\ngate: Cannot roll back action "[^"]+": "old\.txt" changed/,
  );
  expect(stderr).toContain(
    "; nothing was touched; look at the diff, then use --on-conflict merge or force\n",
  );
  expect(stderr).toContain(`try: gate ${whole.join(" ")} --dry-run --on-conflict merge\n`);
  expect(gated.onDisk("old.txt")).toBe("mine since\n");
  writeFileSync(join(gated.folder, "old.txt"), "new\n");
  expect((await gated.good("rollback", held.id)).stdout).toContain("✓ restored: old.txt");
  expect(gated.onDisk("old.txt")).toBe("old\n");
});

test("log lists actions by status, and audit verify finds the chain intact", async () => {
  await gated.write(".env", "KEY=1");
  const [newest] = await gated.json("log", "--json", "-n", "1");
  expect(newest).toMatchObject({ status: "blocked", path: ".env" });
  expect((await gated.good("log", "--status", "blocked")).stdout).toContain(".env");
  expect(await gated.json("log", "--json", "--status", "cancelled")).toEqual([]);
  expect((await gated.good("audit", "verify")).stdout).toMatch(/^✓ web: \d+ events/);
  expect(await gated.json("audit", "verify", "--project", "web", "--json"))
    .toMatchObject({ ok: true, project_id: "web" });
  expect(await gated.terminal.run(["audit", "verify", "--project", "none"])).toMatchObject({
    code: 1,
  });
});

describe("an agent's text prints no control characters", () => {
  const HOSTILE = "run \x1b[2J\x1b]52;c;aGk=\x07 \u202Etxt.exe\u200B";

  test.each([["pending"], ["log"], ["show"], ["watch"]])("gate %s", async (command) => {
    const held = await gated.submit("run_command", { command: `echo '${HOSTILE}'` });
    expect(held.status).toBe("pending");
    let printed: string;
    if (command === "watch") {
      const watching = gated.terminal.run(["watch"]);
      await until("the action is shown", () => gated.terminal.printed().includes(held.id));
      gated.terminal.signal("SIGINT");
      printed = (await watching).stdout;
    } else printed = (await gated.good(command, ...(command === "show" ? [held.id] : []))).stdout;
    expect(printed).toContain("[U+001B][2J");
    expect(printed).toContain("[U+202E]txt.exe[U+200B]");
    // deno-lint-ignore no-control-regex
    expect(printed).not.toMatch(/[\x1b\x07\u202e\u200b]/);
    const asJson = (await gated.good("show", held.id, "--json")).stdout;
    // deno-lint-ignore no-control-regex
    expect(asJson).not.toMatch(/[\x1b\x07\u202e\u200b]/);
    expect(JSON.parse(asJson).command).toContain(HOSTILE);
    await gated.good("reject", held.id, "--reason", "no");
  });
});

test("watch --json prints each held action once, when it arrives", async () => {
  const watching = gated.terminal.run(["watch", "--json", "--project", "web"]);
  const first = await gated.write("w1.txt", "1");
  await until("the first action is printed", () => gated.terminal.printed().includes(first.id));
  const second = await gated.write("w2.txt", "2");
  await until("the second is printed", () => gated.terminal.printed().includes(second.id));
  gated.terminal.signal("SIGINT");
  const { code, stdout } = await watching;
  expect(code).toBe(0);
  expect(stdout.trim().split("\n").map((line) => JSON.parse(line).id)).toEqual([
    first.id,
    second.id,
  ]);
  for (const { id } of [first, second]) await gated.good("reject", id, "--reason", "no");
});

test("watch waits for a stopped daemon and does not start it", async () => {
  const watching = gated.terminal.run(["watch", "--json"]);
  const first = await gated.write("w3.txt", "3");
  await until("the first is printed", () => gated.terminal.printed().includes(first.id));
  const printed = gated.terminal.printed;
  const other = await createTerminal({ GATE_HOME: join(gated.terminal.folder, ".gate") });
  other.env.GATE_PORT = gated.terminal.env.GATE_PORT;
  expect((await other.run(["daemon", "stop"])).stdout).toBe("Stopped.\n");
  expect(await other.run(["daemon", "status"])).toMatchObject({ code: 1 });
  expect((await other.run(["daemon", "start"])).stdout).not.toContain("already");
  const second = await gated.write("w4.txt", "4");
  await until("the second is printed", () => printed().includes(second.id));
  gated.terminal.signal("SIGINT");
  expect(await watching).toMatchObject({ code: 0 });
  for (const { id } of [first, second]) await gated.good("reject", id, "--reason", "no");
  other.close();
});

test("project remove unregisters the project, and init registers it again with its ledger", async () => {
  const before = await gated.json("log", "--json", "-n", "500");
  const held = await gated.write("still.txt", "x");
  const refused = await gated.terminal.run(["project", "remove", "web"]);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("it has unfinished actions");
  await gated.good("reject", held.id, "--reason", "no");
  await gated.good("project", "remove", "web");
  expect(await gated.json("project", "list", "--json")).toEqual([]);
  expect(await gated.terminal.run(["project", "remove", "web"])).toMatchObject({ code: 1 });
  await gated.good("init", "--yes");
  expect(await gated.json("log", "--json", "-n", "500")).toHaveLength(before.length + 1);
});

test("reject sends comments on lines, and none to a line or an action that is not there", async () => {
  const held = await gated.write("commented.txt", "one\ntwo\n");
  const reject = (...words: string[]) =>
    gated.terminal.run(["reject", held.id, "--reason", "nearly", ...words]);
  expect((await reject("--comment", "no line")).code).toBe(64);
  expect((await reject(held.id, "--comment", "commented.txt:1: x")).code).toBe(64);
  const beyond = await reject("--comment", "commented.txt:7: x");
  expect(beyond).toMatchObject({ code: 1, stdout: "" });
  expect(beyond.stderr).toContain('"commented.txt" has no line 7');
  await gated.good(
    ...["reject", held.id, "--reason", "nearly"],
    ...["--comment", "commented.txt:2: say three: now", "--comment", "commented.txt:1: why?"],
  );
  expect((await gated.json("show", held.id, "--json")).reason).toBe(
    'nearly\ncommented.txt:2 ("two"): say three: now\ncommented.txt:1 ("one"): why?',
  );
});

test("reject takes everything of a session, or everything", async () => {
  const { submit, json, terminal } = gated;
  const first = await submit("write_file", { path: "x/one", content: "1" });
  await submit("write_file", { path: "x/two", content: "2" });
  const more = ["--reason", "not today", "--json"];
  const session = await json("reject", "--session", first.session_id, ...more);
  expect(session.rejected.map(({ path }: { path: string }) => path))
    .toEqual(expect.arrayContaining(["x/one", "x/two"]));
  await submit("write_file", { path: "x/three", content: "3" });
  const all = await terminal.run(["reject", "--all", "--reason", "not today"]);
  expect(all).toMatchObject({ code: 0 });
  expect(all.stdout).toContain("x/three");
  expect(await json("pending", "--json")).toEqual([]);
  for (const wrong of [[], ["--all", "--session", "x"]]) {
    expect((await terminal.run(["reject", ...wrong, "--reason", "x"])).code).toBe(64);
  }
});

test("reject shows success in the colour of success on a terminal", async () => {
  const [one, two] = [await gated.write("red.txt", "x"), await gated.write("two.txt", "x")];
  gated.terminal.env.TERM = "xterm";
  try {
    const single = await gated.terminal.run(["reject", one!.id, "--reason", "no"], {
      person: true,
    });
    expect(single.stdout).toBe("\x1b[32m✓\x1b[39m rejected: red.txt\n");
    const args = ["reject", "--session", two!.session_id, "--reason", "no"];
    const all = await gated.terminal.run(args, { person: true });
    expect(all.stdout).toContain("\x1b[32m✓\x1b[39m rejected: two.txt\n");
  } finally {
    delete gated.terminal.env.TERM;
  }
});

test("a rollback is logged under the name of the person who asked for it", async () => {
  const held = await gated.write("asked.txt", "x\n");
  await gated.good("approve", held.id);
  await gated.good("rollback", held.id, "--reason", "not wanted");
  const [rollback] = await gated.json("log", "--tool", "rollback", "-n", "1", "--json");
  expect(rollback).toMatchObject({ rollback_of: held.id, decided_by: "reviewer" });
  const line = (await gated.good("log", "--tool", "rollback", "-n", "1")).stdout;
  expect(line).toMatch(/ {2}person reviewer +rollback +asked\.txt\n$/);
  const shown = (await gated.good("show", rollback.id)).stdout;
  expect(shown).toMatch(/^asked by +reviewer$/m);
  const { timeline } = await gated.json("show", rollback.id, "--json");
  const actors = timeline.map(({ type, actor }: { type: string; actor: object }) => [type, actor]);
  const person = { kind: "reviewer", id: "reviewer" };
  expect(actors).toContainEqual(["action.submitted", person]);
  expect(actors).toContainEqual(["action.approved", person]);
  const undone = (await gated.json("show", held.id, "--json")).timeline.at(-1);
  expect(undone).toMatchObject({
    type: "action.rolled_back",
    data: { by: "reviewer", rollback: rollback.id, reason: "not wanted" },
  });
});

test("an agent's own rollback is logged under the agent's name, also when a person approves it", async () => {
  const session = await asAgent("/api/sessions", { agent: "claude" });
  const ask = (tool: string, input: object) =>
    asAgent("/api/actions", { tool, input, session_id: session.id }, session.session_secret);
  const { id } = await ask("write_file", { path: "own.txt", content: "x\n" });
  await gated.good("approve", id);
  const back = await ask("rollback", { action_id: id });
  expect(back).toMatchObject({ status: "pending", rollback_of: id });
  await gated.good("approve", back.id);
  const line = (await gated.good("log", "--tool", "rollback", "-n", "1")).stdout;
  expect(line).not.toMatch(/ {2}reviewer +rollback/);
  expect((await gated.good("show", back.id)).stdout).not.toContain("asked by");
});

describe("a call of a host's own tool", () => {
  const call = (content: string) => ({
    session_id: "s",
    cwd: gated.folder,
    hook_event_name: "PreToolUse",
    tool_name: "Write",
    tool_input: { file_path: "by_host.txt", content },
  });
  const hook = (content: string, wait_ms: number) =>
    asAgent(`/api/hooks/claude-code?wait_ms=${wait_ms}`, call(content));
  const held = async () => {
    await until("it is held", async () => (await gated.json("pending", "--json")).length === 1);
    return (await gated.json("pending", "--json"))[0].id as string;
  };
  const NOBODY =
    "  Nothing runs: the call that asked no longer waits.\n  Next: tell the agent to " +
    "make exactly the same call again; it goes through once.\n";

  test("its hook has given up: approve says that nothing runs, and the next equal call goes through", async () => {
    await hook("1", 0);
    const id = await held();
    const { stdout, stderr } = await gated.good("approve", id);
    expect(stdout).toBe("✓ approved: by_host.txt\n");
    expect(stderr).toBe(NOBODY);
    expect((await gated.good("show", id)).stdout).toContain("approved, not run: it goes through");
    expect(await hook("1", 0)).toEqual({});
    expect(await gated.json("show", id, "--json")).toMatchObject({ execution: "running" });
  });

  test("its hook was killed while it waited: the same, and nothing counts as running", async () => {
    const token = (await gated.good("token", "--scope", "agent")).stdout.trim();
    const body = JSON.stringify(call("2"));
    const killed = connect(Number(gated.terminal.env.GATE_PORT), "127.0.0.1");
    killed.write(
      `POST /api/hooks/claude-code?wait_ms=60000 HTTP/1.1\r\nHost: 127.0.0.1:` +
        `${gated.terminal.env.GATE_PORT}\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const id = await held();
    await new Promise((resolve) => killed.once("close", resolve).destroy());
    expect((await gated.good("approve", id)).stderr).toBe(NOBODY);
    expect(await gated.json("show", id, "--json")).toMatchObject({ execution: "none" });
    expect(await hook("2", 0)).toEqual({});
  });

  test("its hook waits: approve says that it runs", async () => {
    const asking = hook("3", 60_000);
    const { stdout, stderr } = await gated.good("approve", await held());
    expect(stdout).toBe("✓ approved, running: by_host.txt\n");
    expect(stderr).toBe("");
    expect(await asking).toEqual({});
  });
});

/** Posts as an agent's program does. */
async function asAgent(path: string, body: object, secret?: string) {
  const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
  const { url, fetch, token } = await openConnection(around, { scope: "agent" });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    ...secret !== undefined && { "x-gate-session": secret },
  };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return await (await fetch(`${url}${path}`, init)).json();
}
