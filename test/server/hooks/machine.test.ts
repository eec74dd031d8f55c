import { linkSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listEvents } from "../../../server/audit/store.ts";
import { openHooks, SPEAK } from "./stage.ts";

const PROJECT = {
  defaultEffect: "ask" as const,
  allowedPaths: ["src/**"],
  allowedCommands: ["ls", "cat", "head", "grep", "git status", "git log", "git diff", "echo"],
  blockedPaths: [".env", "secrets/**"],
  blockedCommands: ["git reset --hard", "rm -rf"],
};

const FILES = {
  "src/a.txt": "hello\n",
  ".env": "S=1\n",
  "secrets/key": "TOP\n",
  "README.md": "before\n",
};

/** A gate with one project, and an agent whose folder is none. */
async function openElsewhere(host = "claude-code", globalPolicies = {}) {
  const stage = await openHooks(host, { policies: PROJECT, globalPolicies, files: FILES });
  const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "gate-elsewhere-")));
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  const speak = SPEAK[host]!;
  let calls = 0;
  const ask = async (tool: string, input: Record<string, unknown>, cwd = elsewhere) => {
    const { output, held } = await stage.post(
      speak.before(tool, input, { cwd, key: `k${++calls}` }),
    );
    return held ? "held" : speak.reason(output) ?? "allow";
  };
  const run = (command: string, cwd = elsewhere) => ask(speak.command, { command }, cwd);
  const machine = async () => await stage.gate.daemon.projects.get("machine");
  return { ...stage, speak, elsewhere, ask, run, machine, project: stage.gate.root };
}

describe.each(Object.keys(SPEAK))("%s in a folder of no project", (host) => {
  test("reads pass, changes wait, and the machine's ledger records both", async () => {
    const { gate, elsewhere, speak, ask, run, machine, post } = await openElsewhere(host);
    expect(await run("ls -la")).toBe("allow");
    await post(speak.after(speak.command, { command: "ls -la" }, { cwd: elsewhere, key: "k1" }));
    const [writer, writing] = speak.write;
    expect(await ask(writer, writing(join(elsewhere, "x"), "1\n"))).toBe("held");
    expect(await run("make install")).toBe("held");
    expect(await run(`cat ${gate.home}/tokens/agent`)).toMatch(/^Blocked/);

    const { id, actions, sessions, ledger, audit } = await machine();
    expect(id).toBe("machine");
    const { items } = await actions.list({});
    expect(items.map(({ status, execution, project_id }) => ({ status, execution, project_id })))
      .toEqual([
        { status: "blocked", execution: "none", project_id: "machine" },
        { status: "pending", execution: "none", project_id: "machine" },
        { status: "pending", execution: "none", project_id: "machine" },
        { status: "approved", execution: "succeeded", project_id: "machine" },
      ]);
    expect(items[2]!.path).toBe("x");
    expect(items[3]!.decision.reason).toMatch(/ \(machine\)$/);
    const opened = (await sessions.list({})).items;
    expect(opened).toHaveLength(1);
    expect(opened[0]).toMatchObject({ root: elsewhere, host, client: "hook s-1" });
    const types = (await listEvents(ledger, 0, 100)).map(({ type }) => type);
    expect(types.slice(0, 5)).toEqual([
      ...["session.started", "action.submitted", "action.approved", "action.started"],
      "action.finished",
    ]);
    expect(await audit.verify()).toMatchObject({ ok: true, project_id: "machine" });
    // The project's own ledger knows nothing of it.
    expect((await gate.project.actions.list({})).items).toEqual([]);
    expect(gate.events.some(({ project_id }) => project_id === "machine")).toBe(true);
  });
});

test("a session stays one session while the agent changes its folder", async () => {
  const { elsewhere, run, machine } = await openElsewhere();
  const deeper = join(elsewhere, "deeper");
  mkdirSync(deeper);
  await run("ls");
  await run("ls", deeper);
  const { items } = await (await machine()).sessions.list({});
  expect(items).toHaveLength(1);
  const [second, first] = (await (await machine()).actions.list({})).items;
  expect([first!.cwd, second!.cwd]).toEqual([elsewhere, deeper]);
});

test("the global config rules the machine: it may deny and ask what gate would allow", async () => {
  const policies = { blockedCommands: ["ls"], askPaths: ["*.secret"], allowedCommands: ["make"] };
  const { ask, run, elsewhere } = await openElsewhere("claude-code", policies);
  expect(await run("ls")).toMatch(/^Blocked.*"ls"/);
  writeFileSync(join(elsewhere, "a.secret"), "");
  expect(await ask("Read", { file_path: join(elsewhere, "a.secret") })).toBe("held");
  expect(await run("make")).toBe("allow");
});

test("lists show the machine's ledger once it is used, and nobody registers or removes it", async () => {
  const { gate, run, elsewhere } = await openElsewhere();
  const list = async () => {
    const response = await gate.request("GET", "/api/hub/projects");
    return (await response.json() as { items: { id: string }[] }).items;
  };
  expect((await list()).map(({ id }) => id)).toEqual(["test"]);
  await run("make");
  expect((await list()).find(({ id }) => id === "machine")).toMatchObject({
    id: "machine",
    roots: [],
    pending_count: 1,
    reachable: true,
  });
  const status = await (await gate.request("GET", "/api/daemon/status")).json();
  expect(status).toMatchObject({ healthy: true });
  // It is no candidate where a call names no project.
  expect((await gate.request("GET", "/api/actions")).status).toBe(200);
  const removed = await gate.request("DELETE", "/api/hub/projects/machine");
  expect(removed.status).toBe(409);
  for (const id of ["machine", "Machine", "MACHINE"]) {
    writeFileSync(join(elsewhere, "gate.config.json"), JSON.stringify({ id, policies: {} }));
    const made = await gate.request("POST", "/api/hub/projects", { root: elsewhere });
    expect(made.status).toBe(409);
    expect((await made.json() as { detail: string }).detail).toContain("machine's own ledger");
  }
  const changed = await gate.request("PUT", "/api/config/policies?project=machine", {
    defaultEffect: "allow",
  });
  expect(changed.status).toBe(409);
});

test("HTTP submits to the machine's ledger, also when it is the first that needs it", async () => {
  const { gate } = await openElsewhere();
  const submit = async (tool: string, input: unknown) => {
    const body = { tool, input };
    const response = await gate.request("POST", "/api/actions?project=machine", body, "agent");
    return { status: response.status, action: await response.json() as Record<string, unknown> };
  };
  expect(await submit("run_command", { command: "ls /" })).toMatchObject({
    status: 201,
    action: { project_id: "machine", status: "approved", decided_by: "policy" },
  });
  const write = { path: join(gate.root, "secrets/key"), content: "x" };
  expect(await submit("write_file", write)).toMatchObject({
    status: 201,
    action: { project_id: "machine", status: "blocked" },
  });
});

test("a registry that was lost finds the machine's ledger again", async () => {
  const { gate, run } = await openElsewhere();
  await run("make");
  await gate.reopen(() => {
    for (const end of ["", "-wal", "-shm"]) {
      rmSync(`${join(gate.home, "gate.db")}${end}`, { force: true });
    }
  });
  const machine = await gate.daemon.projects.get("machine");
  expect((await machine.actions.list({})).items).toHaveLength(1);
  expect(machine.roots).toEqual(["/"]);
});

describe("a project's rules hold for its files from a folder of no project", () => {
  const BLOCKED: [string, (at: { root: string; elsewhere: string }) => string][] = [
    ["its absolute path", ({ root }) => `cat ${root}/secrets/key`],
    ["two slashes", ({ root }) => `cat /${root}//secrets///key`],
    ["dots", ({ root }) => `cat ${root}/src/../secrets/./key`],
    ["cd", ({ root }) => `cd ${root} && cat secrets/key`],
    ["cd in steps", ({ root }) => `cd ${root}/src; cd ..; cat secrets/key`],
    ["a link to the project", () => "cat link/secrets/key"],
    ["a link to the file", () => "cat key"],
    ["a variable", ({ root }) => `d=${root}/sec; cat "$d"'rets'/key`],
    ["a redirect", ({ root }) => `echo x > ${root}/secrets/key`],
    ["an input", ({ root }) => `cat < ${root}/.env`],
    ["a copy", ({ root }) => `cp ${root}/secrets/key copy`],
    ["the root of a process", ({ root }) => `cat /proc/self/root${root}/secrets/key`],
    ["a forced reset in it", ({ root }) => `cd ${root} && git reset -q --hard`],
    ["a forced reset by option", ({ root }) => `git -C ${root} reset -q --hard`],
    ["a forced reset through a link", () => "git -C link reset --hard"],
  ];
  test.each(BLOCKED)("%s: blocked", async (_, command) => {
    const { elsewhere, project, run, machine } = await openElsewhere();
    symlinkSync(project, join(elsewhere, "link"));
    symlinkSync(join(project, "secrets/key"), join(elsewhere, "key"));
    const said = await run(command({ root: project, elsewhere }));
    expect(said).toMatch(/^Blocked by gate: .*/);
    const [action] = (await (await machine()).actions.list({})).items;
    expect(action).toMatchObject({ status: "blocked", decided_by: "policy" });
  });

  const NOT_ALLOWED: [string, (at: { root: string; elsewhere: string }) => string][] = [
    ["the working folder of a process", ({ root }) => `cd ${root}; cat /proc/self/cwd/secrets/key`],
    ["another process", ({ root }) => `cat /proc/1/cwd/../..${root}/secrets/key`],
    [".. after a link", () => "cat deep/../secrets/key"],
    [".. after cd into a link", () => "cd deep; cat ../secrets/key"],
    ["a glob of the project's name", ({ root }) => `cat ${root.slice(0, -2)}*/secrets/key`],
    ["a glob above it", ({ root }) => `cat ${root.replace(/[^/]+\/[^/]+$/, "*/*")}/secrets/key`],
    ["an inline script", ({ root }) => `python3 -c "print(open('${root}/secrets/key').read())"`],
    ["a script of its own", ({ root }) => `cd ${root} && sh -c 'f=.en; echo P >> $f"v"'`],
    ["an option of git", ({ root }) => `git -C ${root} log -1 --output gate.config.json`],
    ["a write outside its allowed paths", ({ root }) => `echo x >> ${root}/README.md`],
  ];
  test.each(NOT_ALLOWED)("%s: never allowed", async (_, command) => {
    const { elsewhere, project, run } = await openElsewhere("claude-code", {
      allowedCommands: ["cat", "git log", "echo", "cd"],
    });
    symlinkSync(join(project, "src"), join(elsewhere, "deep"));
    expect(await run(command({ root: project, elsewhere }))).toMatch(/^Blocked|^held$/);
  });

  test("another project is a stranger too: the stricter of both decides", async () => {
    const { gate, project, post, speak } = await openElsewhere();
    const lax = realpathSync(mkdtempSync(join(tmpdir(), "gate-lax-")));
    onTestFinished(() => rmSync(lax, { recursive: true }));
    const config = { id: "lax", policies: { defaultEffect: "allow" } };
    writeFileSync(join(lax, "gate.config.json"), JSON.stringify(config));
    await gate.daemon.projects.register(lax, { id: "reviewer", scope: "reviewer" });
    const run = async (command: string) => {
      const { output, held } = await post(
        speak.before("Bash", { command }, { cwd: lax, key: command }),
      );
      return held ? "held" : speak.reason(output) ?? "allow";
    };
    expect(await run("make")).toBe("allow");
    expect(await run(`cat ${project}/secrets/key`)).toMatch(/^Blocked.*project "test"/);
    expect(await run(`cd ${project} && make`)).toBe("held");
    expect(await run(`cat ${project}/README.md`)).toBe("allow");
    const reading = { file_path: join(project, ".env") };
    expect(speak.reason((await post(speak.before("Read", reading, { cwd: lax, key: "r" }))).output))
      .toMatch(/^Blocked/);
    const recorded = (await (await gate.daemon.projects.get("lax")).actions.list({})).items;
    expect(recorded).toHaveLength(5);
  });
});

test("another name of the same file meets the rule of the first", async () => {
  const { elsewhere, project, run, ask } = await openElsewhere();
  linkSync(join(project, "secrets/key"), join(elsewhere, "harmless"));
  linkSync(join(project, ".env"), join(elsewhere, "twin"));
  linkSync(join(project, "src/a.txt"), join(elsewhere, "other"));
  expect(await run("cat twin")).toMatch(/^Blocked.*another name of/);
  const others = Array.from({ length: 80 }, (_, at) => `other${at}`).join(" ");
  expect(await run(`cat ${others} twin`)).toMatch(/^Blocked.*another name of/);
  expect(await run("cat harmless")).toMatch(/^Blocked|^held$/);
  expect(await ask("Read", { file_path: join(elsewhere, "twin") })).toMatch(/^Blocked/);
  expect(await ask("Read", { file_path: join(elsewhere, "other") })).toBe("held");
});
