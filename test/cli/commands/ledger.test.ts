import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PassThrough, Writable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openConnection } from "../../../cli/daemon/connect.ts";
import { describeRollbacks } from "../../../cli/actions/rollback.ts";
import { run } from "../../../cli/program.ts";
import { createClient, unwrap } from "../../../server/client.ts";
import { AuditType } from "../../../server/evidence/schema.ts";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

test("session list, show, diff and rollback work, also for a part of the session", async () => {
  expect((await gated.good("session", "list")).stdout).toBe("There is no session yet.\n");
  const first = await gated.write("src/a.ts", "one\n");
  await gated.write("src/b.ts", "two\n");
  const id = first.session_id;
  expect(await gated.json("session", "list", "--json")).toMatchObject([{ id, action_count: 2 }]);
  for (const [name, count] of [["--host", 0], ["--client", 0], ["--limit", 1]] as const) {
    expect(await gated.json("session", "list", "--json", name, "7")).toHaveLength(count);
  }
  expect((await gated.good("session", "show", id)).stdout).toContain("2 actions, 0 held");
  expect((await gated.good("session", "diff", id)).stdout).toContain("created: src/a.ts\n");
  const planned = await gated.good("session", "rollback", id, "--dry-run");
  expect(planned.stdout).toContain("2 actions would be rolled back");
  expect(gated.onDisk("src/a.ts")).toBe("one\n");
  await gated.good("session", "rollback", id, "--only", first.id, "--reason", "not this");
  expect([gated.onDisk("src/a.ts"), gated.onDisk("src/b.ts")]).toEqual([null, "two\n"]);
  expect(await gated.json("session", "rollback", id, "--json"))
    .toMatchObject({ rollback_state: "full" });
  expect(gated.onDisk("src/b.ts")).toBeNull();
  expect((await gated.good("session", "diff", id)).stdout).toContain("The session changed no file");
  expect(await gated.terminal.run(["session", "show", "none"])).toMatchObject({ code: 1 });
});

test("gate log filters by words and options", async () => {
  await gated.write(".env", "SECRET=1");
  expect(await gated.json("log", "--json", "secrets", "stay")).toMatchObject([{ path: ".env" }]);
  expect(await gated.json("log", "--json", "nowhere")).toEqual([]);
  expect(await gated.json("log", "--json", "--status", "blocked", "--tool", "write_file"))
    .toMatchObject([{ path: ".env" }]);
  expect((await gated.json("log", "--json", "--by", "policy")).length).toBeGreaterThan(1);
  expect((await gated.json("log", "--json", "--from", "2020-01-01")).length).toBeGreaterThan(1);
  expect(await gated.json("log", "--json", "--to", "2020-01-01T00:00:00Z")).toEqual([]);
});

test.each([
  [["log", "--from", "yesterday"], "such as 2026-03-01"],
  [["log", "--to", "2026-13-01"], "such as 2026-03-01"],
  [["audit", "export", "--from", "1"], "such as 2026-03-01"],
  [["audit", "export", "--window", "1"], "Expected days, such as 7d"],
  [["audit", "export", "--window", "9999d"], "Expected at most 3650d"],
])("%j is wrong usage", async (args, message) => {
  expect(await gated.terminal.run(args)).toMatchObject({
    code: 64,
    stdout: "",
    stderr: expect.stringContaining(message),
  });
});

test("the log describes the rollback of many files by their number and command", async () => {
  const id = await removeBy("rm r1.txt r2.txt", ["r1.txt", "r2.txt"]);
  const { rollback } = await gated.json("rollback", id, "--json");
  expect((await gated.good("log", "-n", "1")).stdout)
    .toMatch(/approved, succeeded {2}person \S+ +rollback +2 files of rm r1\.txt r2\.txt\n$/);
  const shown = (await gated.good("show", rollback.id)).stdout;
  expect(shown).toContain(`rolls back  ${id}`);
  expect(shown).toMatch(/── changed ─+\n│ \+ r\d\.txt\n│ \+ r\d\.txt/);
  const { rollback: again } = await gated.json("rollback", rollback.id, "--json");
  expect((await gated.good("log", "-n", "1")).stdout)
    .toContain(`2 files of the rollback of action ${id}`);
  expect((await gated.json("show", again.id, "--json")).rollback_of).toBe(rollback.id);
});

test("no list and no card shows an agent's name as one of a person or of gate", async () => {
  const { write } = await agentNamed("reviewer");
  const { id } = await write("src/named.ts");
  const newest = async () => (await gated.good("log", "-n", "1")).stdout;
  expect(await newest()).toMatch(/ agent "reviewer" +write_file +src\/named\.ts\n$/);
  expect((await gated.good("show", id)).stdout).toMatch(/\nagent +agent "reviewer"\n/);
  expect((await gated.good("session", "list")).stdout).toContain('agent "reviewer"');
  expect(await gated.json("log", "-n", "1", "--json")).toMatchObject([{ agent: "reviewer" }]);
  await gated.good("rollback", id);
  expect(await newest()).toMatch(/ person \S+ +rollback +src\/named\.ts\n$/);
});

test("an agent that withdraws its action is not shown as the policy", async () => {
  const { client, write } = await agentNamed("policy");
  const { id } = await write("held.txt");
  await unwrap(client.api.actions[":id"].cancel.$post({ param: { id }, json: {} }));
  expect((await gated.good("show", id)).stdout).toMatch(/\ndecided by +agent "policy"\n/);
});

async function agentNamed(agent: string) {
  const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
  const reached = await openConnection(around, { scope: "agent", start: false });
  const given = { ...reached, project: "web" };
  const opening = createClient(given).api.sessions.$post({ json: { agent, host: "a-host" } });
  const { id: session_id, session_secret: session } = await unwrap(opening);
  const client = createClient({ ...given, session });
  return {
    client,
    write: async (path: string) => {
      const json = { tool: "write_file", input: { path, content: "1\n" }, session_id };
      return await unwrap(client.api.actions.$post({ json }));
    },
  };
}

test("describeRollbacks() uses the listed action instead of fetching it again", async () => {
  const id = await removeBy("rm q1.txt q2.txt", ["q1.txt", "q2.txt"]);
  await gated.good("rollback", id);
  const { terminal, folder } = gated;
  const around = { env: terminal.env, cwd: folder, pid: 1 };
  const connection = await openConnection(around, { scope: "viewer", start: false });
  const query = { limit: "2" };
  const { items } = await unwrap(connection.client.api.global.actions.$get({ query }));
  const asked: string[] = [];
  const fetch: typeof connection.fetch = (input, init) => {
    asked.push(new URL(String(input)).pathname);
    return connection.fetch(input, init);
  };
  const said = await describeRollbacks({ ...connection, fetch }, items);
  expect([...said.values()]).toEqual(["2 files of rm q1.txt q2.txt"]);
  expect(asked).toEqual([`/api/actions/${items[0]!.id}`]);
});

test("the log names the file of a command's rollback if it is only one", async () => {
  const id = await removeBy("rm only.txt", ["only.txt"]);
  await gated.good("rollback", id);
  expect(await gated.json("log", "-n", "1", "--json")).toMatchObject([{ path: "only.txt" }]);
});

test.skipIf(!existsSync("/dev/full"))("an export to a full disk is an error", async () => {
  expect(await gated.terminal.run(["audit", "export", "-o", "/dev/full"])).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/the disk is full\n {2}try: make room on the disk/),
  });
});

test("audit export offers every type of event in its help, and refuses others", async () => {
  const { stdout } = await gated.good("audit", "export", "--help");
  expect(AuditType.options.filter((type) => !stdout.includes(`"${type}"`))).toEqual([]);
  const args = ["audit", "export", "--project", "web", "--type", "vote.cast"];
  expect(await gated.json(...args)).toMatchObject({ events: [] });
  expect(await gated.terminal.run(["audit", "export", "--type", "vote"])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("Allowed choices are session.started"),
  });
});

test("a reader that closes the pipe early is no failure of an export", async () => {
  const gone = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(gone) });
  const stderr: string[] = [];
  const code = await run(["audit", "export"], {
    env: gated.terminal.env,
    cwd: gated.folder,
    pid: process.pid,
    stdin: new PassThrough(),
    stdout,
    stderr: new Writable({ write: (chunk, _, done) => (stderr.push(String(chunk)), done()) }),
    onFault: () => {},
    onSignal: () => () => {},
    interrupt: () => {},
    killGroup: () => {},
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: [] });
});

test("audit export writes to a file or to standard output", async () => {
  const file = join(gated.folder, "audit.csv");
  await gated.good("audit", "export", "--format", "csv", "-o", file);
  expect(readFileSync(file, "utf8")).toMatch(/^seq,at,project_id,.*\r\n1,/);
  const { events, checkpoint } = await gated.json("audit", "export", "--project", "web");
  expect(checkpoint.seq).toBe(events.length);
  const some = await gated.json("audit", "export", "--type", "session.started", "--window", "1d");
  expect(some.events.length).toBeGreaterThan(0);
});

test("log --follow prints each action once, when it arrives", async () => {
  const following = gated.terminal.run(["log", "-f", "--json", "-n", "1", "--tool", "write_file"]);
  const lines = () => gated.terminal.printed().split("\n").filter((line) => line !== "");
  await until("the newest action is printed", () => lines().length === 1);
  const ids: string[] = [];
  for (const name of ["x", "y", "z"]) {
    ids.push((await gated.write(`src/follow_${name}.ts`, name)).id);
    await until("the action is printed", () => lines().length === ids.length + 1);
  }
  gated.terminal.signal("SIGINT");
  const { code, stdout } = await following;
  expect(code).toBe(0);
  const printed = stdout.trim().split("\n").map((line) => JSON.parse(line).id);
  expect(printed.slice(1)).toEqual(ids);
});

test("an export into a missing folder names the folder", async () => {
  expect(await gated.terminal.run(["audit", "export", "-o", "absent/a.json"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("its folder does not exist"),
  });
});

test("audit verify checks a bundle and an export without the daemon, and against a checkpoint", async () => {
  const [bundle, json] = [join(gated.folder, "audit.html"), join(gated.folder, "audit.json")];
  expect((await gated.good("audit", "export", "--bundle", bundle)).stdout).toContain(bundle);
  await gated.good("audit", "export", "--project", "web", "-o", json);
  const kept = join(gated.folder, "checkpoint.json");
  const checkpoint = await gated.json("audit", "checkpoint", "--json");
  writeFileSync(kept, JSON.stringify(checkpoint));
  expect((await gated.good("audit", "checkpoint")).stdout)
    .toBe(`--checkpoint ${checkpoint.seq}:${checkpoint.hash}\n--key ${checkpoint.public_key}\n`);
  await gated.terminal.run(["daemon", "stop"]);
  for (const file of [bundle, json]) {
    expect((await gated.good("audit", "verify", file)).stdout).toMatch(/^✓ web: \d+ events/);
    const args = ["audit", "verify", file, "--checkpoint", kept, "--json"];
    expect(await gated.json(...args)).toMatchObject({ ok: true, compared_with: ["checkpoint"] });
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("src/a.ts", "src/b.ts"));
    const found = await gated.terminal.run(["audit", "verify", file]);
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/✗ web: broken at event/),
    });
  }
  const absent = await gated.terminal.run(["audit", "verify", join(gated.folder, "none")]);
  expect(absent).toMatchObject({ code: 1, stderr: expect.stringContaining("does not exist") });
  expect(await gated.terminal.run(["audit", "verify", "--key", "x"])).toMatchObject({ code: 64 });
});

/** Approves a command and, in place of the agent, removes the files and reports success. */
async function removeBy(command: string, names: string[]): Promise<string> {
  const files = names.map((name) => join(gated.folder, name));
  for (const file of files) writeFileSync(file, "kept");
  const { id } = await gated.submit("run_command", { command });
  await gated.good("approve", id);
  const post = (verb: string, body: unknown) => {
    const data = ["--scope", "agent", "-d", JSON.stringify(body)];
    return gated.json("api", "POST", `/api/actions/${id}/${verb}`, ...data);
  };
  const { claim_id } = await post("claim", {});
  for (const file of files) rmSync(file);
  await post("result", {
    claim_id,
    exit_code: 0,
    output: "",
    truncated: false,
    duration_ms: 1,
  });
  return id;
}

test("an export to a file that cannot be written says why and names the option", async () => {
  const { folder } = gated;
  writeFileSync(join(folder, "plain"), "");
  const [inFile, nowhere] = [join(folder, "plain", "x.json"), join(folder, "none", "x.json")];
  const cases: [string[], string, string][] = [
    [["--output", folder], `"${folder}": it is a folder`, "--output"],
    [["--output", inFile], `"${inFile}": a part of its path is not a folder`, "--output"],
    [["--bundle", nowhere], `"${nowhere}": its folder does not exist`, "--bundle"],
    // The kernel's own folder has no such file, and takes no new one.
    ...platform() === "linux"
      ? [[["--output", "/proc/x"], '"/proc/x": its folder takes no new files', "--output"]] as [
        [string[], string, string],
      ]
      : [],
  ];
  for (const [args, what, option] of cases) {
    expect(await gated.terminal.run(["audit", "export", "--project", "web", ...args])).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `gate: Cannot write ${what}\n  try: the same command with another file for ${option}\n`,
    });
  }
});
