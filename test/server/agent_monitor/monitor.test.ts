import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openProcessList } from "../../../server/runtime/open_process_list.ts";
import { ownUid, sendSignal } from "../../../server/runtime/process_list.ts";
import type { ListeningPort, RunningProcess } from "../../../server/runtime/process_list.ts";
import { createTestGate, type TestGate, type TestGateOptions } from "../../helpers.ts";
import { BOOT, emptyHome, homeWith, TestMachine } from "./machine.ts";

const SESSION = "c642a251-c0c8-4215-810d-6c1428768dee";
const OWN_UID = ownUid() ?? 0;

/** A gate on a machine where Claude Code works in the project, with a server that it started. */
async function gateWithClaude(options: TestGateOptions = {}) {
  const machine = new TestMachine();
  const home = homeWith({ ".claude": "claude/tree" });
  const sent: string[] = [];
  const terminator = {
    send(pid: number, signal: "SIGTERM" | "SIGKILL") {
      sent.push(`${signal} ${pid}`);
      if (signal === "SIGKILL" || !ignoring.has(pid)) machine.end(pid);
      return "sent" as const;
    },
    ...{ poll_ms: 1, grace_ms: 20, kill_ms: 20 },
  };
  const ignoring = new Set<number>();
  const gate = await createTestGate({
    ...options,
    machine: { processes: machine, terminator, home, env: {} },
  });
  gate.clock.now = Date.parse("2026-11-20T09:00:00.000Z");
  const path = join(home, ".claude/sessions/21006.json");
  const registered = JSON.parse(readFileSync(path, "utf8"));
  for (const pid of [21007, 21008, 21009]) rmSync(join(home, `.claude/sessions/${pid}.json`));
  writeFileSync(path, JSON.stringify({ ...registered, cwd: gate.root }));
  const from = join(home, ".claude/projects/-home-dev-proj-alpha", `${SESSION}.jsonl`);
  const slug = gate.root.replaceAll(/[^A-Za-z0-9]/g, "-");
  const to = join(home, ".claude/projects", slug, `${SESSION}.jsonl`);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, readFileSync(from));
  const mine = { uid: OWN_UID };
  machine.add(21006, "claude", { ...mine, start_time: `${BOOT}:75002`, cwd: gate.root });
  machine.add(21100, "bash -c npm run dev", { ...mine, ppid: 21006 });
  machine.add(21101, "node server.js --token=ghp_0123456789abcdefghijABCDEFGHIJ012345", {
    ...{ ...mine, ppid: 21100 },
  });
  machine.listen(21101, 3_000);
  machine.add(21102, "node /usr/lib/mcp-server-files/index.js", { ...mine, ppid: 21006 });
  return { gate, machine, home, path, sent, ignoring };
}

async function ask(
  gate: TestGate,
  path: string,
  { method = "GET", body, scope }: { method?: string; body?: unknown; scope?: "agent" | "viewer" } =
    {},
) {
  const response = await gate.request(method, `/api/agent-monitor${path}`, body, scope);
  // deno-lint-ignore no-explicit-any
  return { status: response.status, body: await response.json() as any };
}

/** Ends the session's process, and waits in the gate's time until its servers are orphans. */
async function endSession({ gate, machine }: { gate: TestGate; machine: TestMachine }) {
  machine.end(21006);
  machine.end(21100);
  machine.running.find(({ pid }) => pid === 21101)!.ppid = 1;
  for (let left = 3; left > 0; left--) {
    await ask(gate, "/snapshot");
    gate.clock.advance(5_000);
  }
  return (await ask(gate, "/ports")).body;
}

test("the snapshot shows sessions, children, ports, MCP servers and limits", async () => {
  const { gate } = await gateWithClaude();
  const { status, body } = await ask(gate, "/snapshot");
  expect(status).toBe(200);
  expect(body.sessions).toMatchObject([{
    session_id: SESSION,
    project_id: "test",
    status: "idle",
    title: null,
    held: null,
    ports: [{ port: 3_000, address: "127.0.0.1", family: 4 }],
    memory_bytes: 4_096,
  }]);
  const child = {
    pid: 21_101,
    command: "node server.js --token=[redacted]",
    session_id: SESSION,
    agent: "claude-code",
    project_id: "test",
  };
  expect(body.child_ports).toMatchObject([child]);
  expect(body.orphan_ports).toEqual([]);
  expect(body.mcp_servers).toMatchObject([{ pid: 21_102, session_id: SESSION }]);
  // deno-lint-ignore no-explicit-any
  const limits = body.rate_limits.map((one: any) => [one.agent, one.status, one.reason !== null]);
  expect(limits).toHaveLength(7);
  expect(limits[0]).toEqual(["claude-code", "unavailable", true]);
  expect((await ask(gate, "/rate-limits")).body.items).toEqual(body.rate_limits);
  expect((await ask(gate, `/sessions/${SESSION}`)).body).toEqual(body.sessions[0]);
});

test("sessions are filtered by project, folder, agent and status", async () => {
  const { gate, machine } = await gateWithClaude();
  machine.add(5, "gemini", { uid: OWN_UID, cwd: "/elsewhere" });
  const idsOf = async (query: string) =>
    // deno-lint-ignore no-explicit-any
    (await ask(gate, `/sessions${query}`)).body.items.map((one: any) => one.agent);
  expect(await idsOf("")).toEqual(["claude-code", "gemini-cli"]);
  expect(await idsOf("?scope=all&project=test")).toEqual(["claude-code", "gemini-cli"]);
  expect(await idsOf("?project=test")).toEqual(["claude-code"]);
  expect(await idsOf(`?scope=project&cwd=${encodeURIComponent(`${gate.root}/src`)}`))
    .toEqual(["claude-code"]);
  expect(await idsOf("?scope=project&cwd=/elsewhere")).toEqual([]);
  expect(await idsOf("?agent=gemini-cli")).toEqual(["gemini-cli"]);
  expect(await idsOf("?status=unknown")).toEqual(["gemini-cli"]);
});

test("an action that gate holds makes its session wait for approval", async () => {
  const { gate } = await gateWithClaude({ policies: { defaultEffect: "ask" } });
  const call = {
    ...{ hook_event_name: "PreToolUse", session_id: SESSION, cwd: gate.root },
    ...{ tool_name: "Write", tool_use_id: "t1" },
    tool_input: { file_path: join(gate.root, "a.txt"), content: "x" },
  };
  void gate.request("POST", "/api/hooks/claude-code", call, "agent");
  let held: { id: string }[] = [];
  while (held.length === 0) {
    await wait(5);
    held = (await gate.project.actions.list({ status: "pending" })).items;
  }
  expect((await ask(gate, "/sessions")).body.items).toMatchObject([{
    status: "waiting_approval",
    status_source: "gate",
    held: { project_id: "test", action_id: held[0]!.id },
  }]);
  await gate.project.actions.letGo();
});

test("the session of an agent is found by the session of gate that holds its actions", async () => {
  const { gate, machine } = await gateWithClaude();
  machine.add(5, "gemini", { uid: OWN_UID, cwd: gate.root });
  const call = {
    ...{ hook_event_name: "PreToolUse", session_id: SESSION, cwd: gate.root },
    ...{ tool_name: "Read", tool_use_id: "t1", tool_input: { file_path: "README.md" } },
  };
  await gate.request("POST", "/api/hooks/claude-code", call, "agent");
  const [own] = (await gate.project.sessions.list({})).items;
  const other = await (await gate.request("POST", "/api/sessions", { host: "codex" }, "agent"))
    .json() as { id: string };
  const idsOf = async (id: string) =>
    // deno-lint-ignore no-explicit-any
    (await ask(gate, `/sessions?gate_session=${id}`)).body.items?.map((one: any) => one.session_id);
  expect(await idsOf(own!.id)).toEqual([SESSION]);
  expect(await idsOf(other.id)).toEqual([]);
  expect((await ask(gate, "/sessions?gate_session=none")).status).toBe(404);
});

test.each([["in order", true, "exit"], ["by force", false, "killed"]])(
  "a session that ended %s stays in the history, also after a restart",
  async (_how, removes, end_reason) => {
    const made = await gateWithClaude();
    const { gate, path } = made;
    await ask(gate, "/snapshot");
    if (removes) rmSync(path);
    await endSession(made);
    const row = {
      ...{ session_id: SESSION, agent: "claude-code", project_id: "test", end_reason },
      ...{ model: "claude-opus-5-5", turns: 1, tokens: { total: 81_225 } },
    };
    expect((await ask(gate, "/history")).body.items).toMatchObject([row]);
    await gate.reopen();
    expect((await ask(gate, "/history?limit=1&agent=claude-code")).body.items)
      .toMatchObject([row]);
    expect((await ask(gate, "/history?agent=codex")).body.items).toEqual([]);
  },
);

test("a server whose session has ended is an orphan after the grace, also after a restart", async () => {
  const made = await gateWithClaude();
  const { gate, machine } = made;
  await ask(gate, "/snapshot");
  machine.end(21006);
  machine.running.find(({ pid }) => pid === 21101)!.ppid = 1;
  gate.clock.advance(2_000);
  expect((await ask(gate, "/ports")).body).toMatchObject({ child_ports: [], orphan_ports: [] });
  await gate.reopen();
  const { child_ports, orphan_ports } = await endSession(made);
  expect(child_ports).toEqual([]);
  expect(orphan_ports).toMatchObject([{
    pid: 21_101,
    found_by: "tracked",
    session_id: SESSION,
    agent: "claude-code",
    project_id: "test",
    ports: [{ port: 3_000 }],
  }]);
});

test("an orphan is terminated once, and that is recorded", async () => {
  const made = await gateWithClaude();
  const { gate, sent } = made;
  await ask(gate, "/snapshot");
  const { orphan_ports: [row] } = await endSession(made);
  const body = { start_time: row.start_time };
  const first = await ask(gate, "/ports/21101", { method: "DELETE", body });
  expect(first).toMatchObject({
    status: 200,
    body: { pid: 21_101, ports: [3_000], signal: "SIGTERM", outcome: "terminated" },
  });
  expect(sent).toEqual(["SIGTERM 21101"]);
  const again = await ask(gate, "/ports/21101", { method: "DELETE" });
  expect(again.status).toBe(404);
  expect((await gate.audit()).filter(({ type }) => type === "monitor.terminated")).toMatchObject([{
    actor: { kind: "reviewer", id: "reviewer" },
    data: {
      ...{ pid: 21_101, ports: [3_000], signal: "SIGTERM", outcome: "terminated" },
      ...{ agent: "claude-code", agent_session: SESSION, start_time: row.start_time },
    },
  }]);
  expect(gate.events.map(({ topic, type }) => `${topic} ${type}`))
    .toContain("agents monitor.terminated");
});

test("an orphan that ignores the request is killed", async () => {
  const made = await gateWithClaude();
  await ask(made.gate, "/snapshot");
  await endSession(made);
  made.ignoring.add(21_101);
  expect(await ask(made.gate, "/ports/21101", { method: "DELETE" })).toMatchObject({
    status: 200,
    body: { signal: "SIGKILL", outcome: "killed" },
  });
  expect(made.sent).toEqual(["SIGTERM 21101", "SIGKILL 21101"]);
});

type Change = (machine: TestMachine, own: RunningProcess) => void;

test.each<[string, string, Change, unknown, number]>([
  ["another process has its pid", "21101", (_m, own) => own.start_time += "9", {}, 409],
  ["the person saw another process", "21101", () => {}, { start_time: "other" }, 409],
  ["it listens no more", "21101", (machine) => machine.ports = [], {}, 409],
  ["it is another user's", "21101", (_m, own) => own.uid = OWN_UID + 1, {}, 409],
  [
    "its session lives again",
    "21101",
    (machine) => {
      const start_time = `${BOOT}:75002`;
      machine.add(21006, "claude", { uid: OWN_UID, start_time });
    },
    {},
    409,
  ],
  ["it is no orphan", "21102", () => {}, {}, 404],
  ["it is the gate", String(process.pid), () => {}, {}, 404],
  ["it is the system", "1", () => {}, {}, 404],
  ["it is a group", "-21101", () => {}, {}, 400],
  ["it is no number", "21101x", () => {}, {}, 400],
  ["it is too large", "99999999999", () => {}, {}, 400],
  ["the body is wrong", "21101", () => {}, { force: true }, 400],
])("nothing is signalled when %s", async (_name, pid, change, body, status) => {
  const made = await gateWithClaude();
  await ask(made.gate, "/snapshot");
  expect((await endSession(made)).orphan_ports).toHaveLength(1);
  change(made.machine, made.machine.running.find((one) => one.pid === 21_101)!);
  const answer = await ask(made.gate, `/ports/${pid}`, { method: "DELETE", body });
  expect(answer.status).toBe(status);
  expect(answer.body.detail).toMatch(/^Cannot /);
  expect(made.sent).toEqual([]);
});

test("an orphan that ended meanwhile has already exited", async () => {
  const made = await gateWithClaude();
  await ask(made.gate, "/snapshot");
  await endSession(made);
  made.machine.end(21_101);
  expect(await ask(made.gate, "/ports/21101", { method: "DELETE" })).toMatchObject({
    status: 200,
    body: { signal: null, outcome: "already_exited" },
  });
  expect(made.sent).toEqual([]);
});

test("neither an agent nor a viewer terminates anything", async () => {
  const made = await gateWithClaude();
  await ask(made.gate, "/snapshot");
  await endSession(made);
  for (const scope of ["agent", "viewer"] as const) {
    const answer = await ask(made.gate, "/ports/21101", { method: "DELETE", scope });
    expect(answer.status).toBe(403);
  }
  expect(made.sent).toEqual([]);
});

test.each([
  ["/sessions?scope=all&x=1&scope=all", 400],
  ["/sessions?scope=some", 400],
  ["/sessions?scope=project", 400],
  ["/sessions?project=none", 404],
  ["/sessions?status=asleep", 400],
  ["/sessions?agent=none", 400],
  ["/sessions?scope=project&cwd=src", 400],
  ["/sessions?cwd=%2Fa%00", 400],
  ["/sessions?project=test&agent=codex%0A", 400],
  ["/sessions/none", 404],
  ["/sessions/..%2F..%2Fsnapshot", 404],
  ["/history?limit=0", 400],
  ["/history?limit=x", 400],
  ["/history?limit=501", 400],
  ["/history?limit=1&limit=2", 400],
  ["/history?agent=", 400],
  ["/history?agent=none", 400],
  ["/ports/1", 405],
])("GET %s answers %i", async (path, status) => {
  const { gate } = await gateWithClaude();
  const answer = await ask(gate, path);
  expect(answer.status).toBe(status);
  expect(answer.body.detail).toMatch(/^Cannot |: /);
});

test("a server that left its session counts for it by its marks; the config can forbid to look", async () => {
  const { gate, machine } = await gateWithClaude();
  machine.add(900, "python3 -m http.server", { uid: OWN_UID });
  machine.listen(900, 8_000);
  machine.variables.set(900, { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: SESSION, GH_TOKEN: "x" });
  expect((await ask(gate, "/ports")).body.child_ports).toMatchObject([
    { pid: 21_101 },
    { pid: 900, session_id: SESSION },
  ]);
  const reads = machine.reads;
  expect(reads).toBeGreaterThan(0);
  const config = join(gate.home, "config.json");
  const json = JSON.parse(readFileSync(config, "utf8"));
  writeFileSync(config, JSON.stringify({ ...json, agentMonitor: { readEnvironment: false } }));
  await gate.reopen();
  expect((await ask(gate, "/ports")).body.child_ports).toMatchObject([{ pid: 21_101 }]);
  expect(machine.reads).toBe(reads);
});

test("the config can allow the first request of a session", async () => {
  const { gate } = await gateWithClaude();
  const config = join(gate.home, "config.json");
  const json = JSON.parse(readFileSync(config, "utf8"));
  writeFileSync(config, JSON.stringify({ ...json, agentMonitor: { showTexts: true } }));
  expect((await ask(gate, "/sessions")).body.items).toMatchObject([
    { title: "Add a health endpoint to the demo server" },
  ]);
});

test("followers are told when something changes", async () => {
  const { gate, machine } = await gateWithClaude();
  await ask(gate, "/snapshot");
  gate.clock.advance(2_000);
  await ask(gate, "/snapshot");
  const told = () => gate.events.filter(({ type }) => type === "agents.changed").length;
  expect(told()).toBe(0);
  machine.add(5, "gemini", { uid: OWN_UID, cwd: "/elsewhere" });
  gate.clock.advance(2_000);
  await ask(gate, "/snapshot");
  expect(told()).toBe(1);
});

test.each([["that ends when asked", "", "terminated"], [
  "that ignores SIGTERM",
  "process.on('SIGTERM', () => {});",
  "killed",
]])(
  "a real server %s, left by a session that is gone, is found and ended",
  async (_name, extra, outcome) => {
    const home = emptyHome();
    const run = crypto.randomUUID();
    const gate = await createTestGate({
      machine: {
        processes: onlyOf(openProcessList(), run),
        terminator: { send: sendSignal, poll_ms: 20, grace_ms: 500, kill_ms: 2_000 },
        ...{ home, env: {} },
      },
    });
    const code = `${extra}require('net').createServer().listen(0, '127.0.0.1', () => ` +
      "console.log(process.pid))";
    const env = {
      ...{ PATH: process.env.PATH, CLAUDECODE: "1" },
      ...{ CLAUDE_CODE_SESSION_ID: "gone", CODE: code, RUN: run },
    };
    // The first shell ends at once, so the server's parent is no process of the session.
    const shell = spawn("sh", ["-c", 'node -e "$CODE" &'], { env, detached: true });
    const [line] = await once(shell.stdout, "data");
    const pid = Number(String(line).trim());
    onTestFinished(() => void sendSignal(pid, "SIGKILL"));
    expect((await ask(gate, "/ports")).body.orphan_ports).toEqual([]);
    gate.clock.advance(10_000);
    const { orphan_ports } = (await ask(gate, "/ports")).body;
    expect(orphan_ports).toMatchObject([
      { pid, found_by: "marked", session_id: "gone", agent: "claude-code" },
    ]);
    const answer = await ask(gate, `/ports/${pid}`, { method: "DELETE" });
    expect(answer).toMatchObject({ status: 200, body: { pid, outcome } });
    expect((await openProcessList().all()).some((one) => one.pid === pid)).toBe(false);
  },
);

/** Without the ports of whatever else runs on this machine. */
function onlyOf(list: ReturnType<typeof openProcessList>, run: string): typeof list {
  const named = async (one: ListeningPort) =>
    (await list.variablesOf(one.pid, new Set(["RUN"]))).RUN === run;
  return {
    machine: list.machine,
    all: () => list.all(),
    foldersOf: (pids) => list.foldersOf(pids),
    variablesOf: (pid, names) => list.variablesOf(pid, names),
    lockedFiles: () => list.lockedFiles(),
    async listening() {
      const all = await list.listening();
      const own = await Promise.all(all.map(named));
      return all.filter((_, at) => own[at]);
    },
  };
}
