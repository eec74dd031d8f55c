import { readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import Sqlite from "libsql";
import { AGENTS } from "../../../server/agent_monitor/agents/agents.ts";
import type { Agent } from "../../../server/agent_monitor/agents/agent.ts";
import { SessionFinder } from "../../../server/agent_monitor/sessions.ts";
import { showLimits, showSession } from "../../../server/agent_monitor/view.ts";
import { BOOT, emptyHome, fixture, homeWith, TestMachine } from "./machine.ts";

const NOW = Date.parse("2026-11-20T09:00:00.000Z");
const ALPHA = "/home/dev/proj/alpha";

/** The sessions of a machine as the API shows them. */
async function look(machine: TestMachine, home: string, agents: readonly Agent[] = AGENTS) {
  const finder = new SessionFinder({
    ...{ agents, processes: machine, home, env: {}, own_uid: 1000, now: () => NOW },
  });
  let { sessions, running } = await finder.look();
  // A busy machine reads a long record in several rounds.
  for (let left = 200; left > 0 && !sessions.every((one) => one.is_complete); left--) {
    ({ sessions, running } = await finder.look());
  }
  await finder.close();
  return sessions.map((session) => ({
    ...showSession(session, {
      ...{ project_id: null, held: null, git: null, children: [], shows_texts: true, now: NOW },
      running,
      below: machine.running.filter(({ ppid }) => ppid === session.owner?.pid),
    }),
    limits: session.known.limits,
  }));
}

describe("Claude Code", () => {
  const tree = { ".claude": "claude/tree" };

  function machine(...pids: number[]): TestMachine {
    const made = new TestMachine();
    for (const pid of pids) made.add(pid, "claude", { start_time: `${BOOT}:75002`, cwd: ALPHA });
    return made;
  }

  test("the registry tells the sessions and their states, the transcript the rest", async () => {
    const found = await look(machine(21006, 21007, 21008, 21009), homeWith(tree));
    expect(found.map(({ pid, status, status_source }) => [pid, status, status_source])).toEqual([
      [21006, "idle", "registry"],
      [21007, "working", "registry"],
      [21008, "waiting_approval", "registry"],
      [21009, "waiting_input", "registry"],
    ]);
    // Five answers of 3 + 1,200 + 15,000 + 42 tokens, most of them in two lines.
    expect(found[0]).toMatchObject({
      session_id: "c642a251-c0c8-4215-810d-6c1428768dee",
      agent: "claude-code",
      cwd: ALPHA,
      model: "claude-opus-5-5",
      version: "2.1.328",
      tokens: { input: 15, cache_write: 6_000, cache_read: 75_000, output: 210, total: 81_225 },
      tokens_complete: true,
      context: { used: 16_203, window: null, percent: null },
      cost_usd: null,
      cost_source: "unavailable",
      turns: 1,
      title: "Add a health endpoint to the demo server",
      git: { branch: "master", changed_files: null },
      last_activity_at: "2026-11-20T08:26:24.938Z",
      current_task: null,
      stale: false,
    });
  });

  test.each([
    ["of a killed process whose pid another one has", { start_time: `${BOOT}:75003` }, {}],
    ["of another namespace of pids", {}, { pidDomain: "linux:0:pid:[4026532999]" }],
    ["of no process", { pid: 4 }, {}],
  ])("an entry %s is no session", async (_name, process, entry) => {
    const home = homeWith(tree);
    const path = join(home, ".claude/sessions/21006.json");
    const json = { ...JSON.parse(readFileSync(path, "utf8")), ...entry };
    writeFileSync(path, JSON.stringify(json));
    const made = new TestMachine();
    made.add(21006, "vim claude.md", { start_time: `${BOOT}:75002`, ...process });
    const found = await look(made, home);
    expect(found.filter(({ session_id }) => session_id.startsWith("c642"))).toEqual([]);
  });

  test("the state comes from the transcript when an older release writes none", async () => {
    const home = homeWith(tree);
    const old = JSON.parse(readFileSync(fixture("claude/sessions-old-shape.json"), "utf8"));
    writeFileSync(join(home, ".claude/sessions/21006.json"), JSON.stringify(old));
    const made = new TestMachine();
    made.add(old.pid, "claude", { cwd: ALPHA });
    expect(await look(made, home)).toMatchObject([
      { session_id: old.sessionId, pid: old.pid, status: "idle", status_source: "transcript" },
    ]);
  });

  test.each([
    ["4c1ce93f-1e53-45f6-aeea-6161b9b550e8", 0.009852, 16_245, 1],
    // Six answers in a run without a person.
    ["82ab61a4-2621-4ef8-a8be-b9bec8f4098e", 0.059112, 97_470, 1],
  ])("session %s cost %d dollars", async (sessionId, cost_usd, total, turns) => {
    const home = homeWith(tree);
    const path = join(home, ".claude/sessions/21006.json");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), sessionId }));
    const [found] = await look(machine(21006), home);
    expect(found).toMatchObject({ cost_usd, cost_source: "recorded", tokens: { total }, turns });
  });

  test("a process without an entry is shown as unknown", async () => {
    expect(await look(machine(5), emptyHome())).toMatchObject([
      { session_id: "process-5", status: "unknown", status_source: "process", tokens: null },
    ]);
  });
});

describe("Codex CLI", () => {
  const tree = { ".codex": "codex/tree" };
  const EXEC = "01a1f80e-6503-73b3-9e21-20be740aff93";
  const DONE = "01a1f80f-5b3a-7732-a120-63ba5b41f227";
  const BUSY = "01a1f810-9423-7a52-a792-f63895700a19";

  function lock(home: string, session: string): string {
    const path = join(home, ".codex/thread-writer-locks", `${session}.lock`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "");
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  }

  test("locked sessions live, whichever process holds them", async () => {
    const home = homeWith(tree);
    const machine = new TestMachine();
    machine.locked = new Set([lock(home, DONE), lock(home, BUSY)]);
    lock(home, EXEC);
    machine.add(24500, "/opt/bin/codex app-server --listen unix:// --managed-daemon");
    const found = await look(machine, home);
    expect(found.map((one) => [one.session_id, one.status, one.tokens?.total, one.turns])).toEqual(
      expect.arrayContaining([
        // 97,218 of input, of which 90,000 came from a cache, and 252 of output.
        [DONE, "idle", 97_470, 1],
        [BUSY, "working", 32_490, 2],
      ]),
    );
    expect(found).toHaveLength(2);
    expect(found.find(({ session_id }) => session_id === BUSY)).toMatchObject({
      current_task: "write_file",
      model: "mock-1",
      context: { used: 16_203, window: 258_400, percent: 6.3 },
      tokens: { input: 2_406, cache_read: 30_000, output: 84 },
      stale: true,
    });
  });

  test("a run is found by its process and folder", async () => {
    const machine = new TestMachine();
    const started_at = Date.parse("2026-11-20T08:24:14.000Z");
    machine.add(7, "codex exec hello", { cwd: ALPHA, started_at });
    machine.add(8, "codex mcp-server", { cwd: ALPHA, started_at });
    const found = await look(machine, homeWith(tree));
    expect(found.map(({ pid }) => pid)).toEqual([7]);
    expect(found[0]!.status).toBe("idle");
  });

  const ESCALATED = { cmd: "npm publish", sandbox_permissions: "require_escalated" };
  const ASKING: [string, string, Record<string, unknown>, string | null, string][] = [
    ["asks outside its sandbox", "on-request", ESCALATED, null, "waiting_approval"],
    ["was approved and runs", "on-request", ESCALATED, "npm publish", "working"],
    ["may ask nobody", "never", ESCALATED, null, "working"],
    ["stays in its sandbox", "on-request", { cmd: "npm test" }, "npm test", "working"],
    [
      "failed in its sandbox",
      "on-request",
      { cmd: "npm test" },
      null,
      "waiting_approval by process",
    ],
    [
      "is older",
      "on-request",
      {
        command: ["bash", "-lc", "npm publish"],
        with_escalated_permissions: true,
      },
      null,
      "waiting_approval",
    ],
  ];

  test.each(ASKING)("a command that %s", async (_, approval_policy, given, runs, status) => {
    const home = emptyHome();
    const id = "01a1f80e-0000-7000-8000-000000000002";
    const folder = join(home, ".codex/sessions/2026/11/20");
    mkdirSync(folder, { recursive: true });
    const lines = [
      ["session_meta", { id, cwd: ALPHA }],
      ["turn_context", { cwd: ALPHA, approval_policy }],
      ["response_item", {
        ...{ type: "function_call", name: "exec_command", call_id: "c" },
        arguments: JSON.stringify(given),
      }],
    ];
    const timestamp = "2026-11-20T08:59:00.000Z";
    writeFileSync(
      join(folder, `rollout-2026-11-20T08-59-00-${id}.jsonl`),
      lines.map(([type, payload]) => `${JSON.stringify({ timestamp, type, payload })}\n`).join(""),
    );
    const machine = new TestMachine();
    machine.locked = new Set([lock(home, id)]);
    if (runs !== null) machine.add(9, runs);
    const [word, status_source = "transcript"] = status.split(" by ");
    expect((await look(machine, home))[0]).toMatchObject({ status: word, status_source });
  });

  test("a question waits for an answer", async () => {
    const home = homeWith(tree);
    const path = join(
      home,
      ".codex/sessions/2026/11/20/rollout-2026-11-20T08-26-38-" + BUSY + ".jsonl",
    );
    const payload = { type: "function_call", name: "request_user_input", call_id: "q" };
    const line = { timestamp: "2026-11-20T08:59:59.500Z", type: "response_item", payload };
    writeFileSync(path, `${readFileSync(path, "utf8")}${JSON.stringify(line)}\n`);
    const machine = new TestMachine();
    machine.locked = new Set([lock(home, BUSY)]);
    expect(await look(machine, home)).toMatchObject([
      { status: "waiting_input", status_source: "transcript", current_task: "request_user_input" },
    ]);
  });

  test("the account's limits come from the newest record, those of models do not count", async () => {
    const home = homeWith({
      ".codex/sessions/2026/04/02": "codex/old-format-synthetic",
    });
    const machine = new TestMachine();
    machine.locked = new Set([lock(home, "0199d2c1-0000-7000-8000-000000000001")]);
    const [found] = await look(machine, home);
    expect(found).toMatchObject({
      turns: 1,
      status: "idle",
      tokens: { input: 2_500, cache_read: 18_000, output: 340, total: 20_840 },
    });
    const codex = AGENTS.find(({ id }) => id === "codex")!;
    const at = Date.parse("2026-04-02T10:05:00.000Z");
    expect(showLimits(codex, found!.limits, at)).toMatchObject({
      status: "known",
      stale: false,
      limits: [
        { id: "primary", window_minutes: 300, used_percent: 42 },
        { id: "secondary", window_minutes: 10_080, used_percent: 11 },
      ],
    });
    // After the reset nobody knows.
    expect(showLimits(codex, found!.limits, NOW).limits[0]).toMatchObject({
      used_percent: null,
      resets_at: null,
    });
  });
});

describe("Copilot CLI", () => {
  const LIVE = "2383c57b-16af-42bc-bda9-b88c4b32aa7e";

  test("a lock names the process of a session", async () => {
    const machine = new TestMachine();
    machine.add(411, "/x/node_modules/@github/copilot-linux-x64/copilot");
    const found = await look(machine, homeWith({ ".copilot": "copilot/tree" }));
    expect(found).toMatchObject([{
      session_id: LIVE,
      pid: 411,
      cwd: ALPHA,
      status: "idle",
      status_source: "transcript",
      model: "mock-1",
      version: "1.0.102",
      turns: 1,
      // Five answers, of whose input 15,000 tokens each came from a cache.
      tokens: { input: 6_015, cache_read: 75_000, output: 210, total: 81_225 },
      context: { window: 128_000 },
      cost_usd: null,
    }]);
  });

  test("a question that nobody has answered waits for approval", async () => {
    const home = homeWith({ ".copilot": "copilot/tree" });
    const path = join(home, ".copilot/session-state", LIVE, "events.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    const asked = lines.findIndex((line) => line.includes("permission.requested"));
    writeFileSync(path, `${lines.slice(0, asked + 1).join("\n")}\n`);
    const machine = new TestMachine();
    machine.add(411, "node /usr/bin/copilot");
    expect(await look(machine, home)).toMatchObject([
      { status: "waiting_approval", current_task: "bash" },
    ]);
  });

  test("a lock of a process that is another program counts for nothing", async () => {
    const machine = new TestMachine();
    machine.add(411, "grep copilot notes.md");
    expect(await look(machine, homeWith({ ".copilot": "copilot/tree" }))).toEqual([]);
  });
});

test("Gemini CLI: a process and the newest chat of its folder; a repeated answer counts once", async () => {
  const home = homeWith({ ".gemini": "gemini/tree" });
  const chats = join(home, ".gemini/tmp/alpha/chats");
  const [long, empty] = ["2026-11-20T08-27-1c2bf70b", "2026-11-20T08-40-d93b6e4e"]
    .map((name) => join(chats, `session-${name}.jsonl`)) as [string, string];
  utimesSync(empty, 1, 1);
  utimesSync(long, NOW / 1000, NOW / 1000);
  const machine = new TestMachine();
  const started_at = Date.parse("2026-11-20T08:27:40.000Z");
  machine.add(30, "node /usr/bin/gemini", { cwd: ALPHA, started_at });
  machine.add(31, "/usr/bin/node /usr/bin/gemini", { ppid: 30, cwd: ALPHA, started_at });
  expect(await look(machine, home)).toMatchObject([{
    session_id: "1c2bf70b-52de-4bd3-b651-c966b1ecfd6e",
    pid: 31,
    status: "idle",
    model: "gemini-2.5-flash",
    turns: 1,
    // Seven answers of 1,203 new and 15,000 cached tokens, 42 of text and 10 of thoughts.
    tokens: { input: 8_421, cache_read: 105_000, output: 364, total: 113_785 },
  }]);
});

test("Qwen Code: counts, model, window and the running tool", async () => {
  const home = emptyHome();
  const path = join(home, ".qwen/projects/-home-dev-proj-alpha/chats/s1.jsonl");
  mkdirSync(dirname(path), { recursive: true });
  const record = (more: object) => ({
    ...{ uuid: "u", sessionId: "s1", timestamp: "2026-11-20T08:59:00.000Z" },
    ...{ cwd: ALPHA, version: "0.24.4", gitBranch: "main", ...more },
  });
  const usageMetadata = {
    ...{ promptTokenCount: 1_000, cachedContentTokenCount: 800 },
    ...{ candidatesTokenCount: 40, thoughtsTokenCount: 2 },
  };
  const lines = [
    record({ type: "user", message: { role: "user", parts: [{ text: "Hello" }] } }),
    record({
      ...{ type: "assistant", uuid: "a1", model: "qwen3", usageMetadata, contextWindowSize: 4_000 },
      message: { parts: [{ functionCall: { name: "run_shell_command" } }] },
    }),
  ];
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join("\n") + "\n");
  const machine = new TestMachine();
  machine.add(40, "node /usr/bin/qwen", { cwd: ALPHA });
  machine.add(41, "bash -c make", { ppid: 40, started_at: Date.parse("2026-11-20T08:59:01.000Z") });
  expect(await look(machine, home)).toMatchObject([{
    ...{ session_id: "s1", agent: "qwen-code", status: "working", model: "qwen3", turns: 1 },
    ...{ current_task: "run_shell_command", version: "0.24.4", title: "Hello" },
    tokens: { input: 200, cache_read: 800, output: 42, total: 1_042 },
    context: { used: 1_000, window: 4_000, percent: 25 },
  }]);
});

test("opencode: its database tells counts and an answer that is not complete", async () => {
  const home = emptyHome();
  const path = join(home, ".local/share/opencode/opencode.db");
  mkdirSync(dirname(path), { recursive: true });
  const database = new Sqlite(path);
  database.exec(readFileSync(fixture("opencode/opencode.sql"), "utf8"));
  const machine = new TestMachine();
  machine.add(50, "/home/dev/.opencode/bin/opencode", { cwd: ALPHA });
  const session = {
    ...{
      session_id: "ses_e07ecd67cffeb9BlEXGOSpzzpu",
      agent: "opencode",
      pid: 50,
      model: "mock-1",
    },
    ...{ turns: 1, cost_usd: null, version: "1.18.33" },
    tokens: { input: 8_421, output: 294, cache_read: 105_000, cache_write: 0, total: 113_715 },
  };
  expect(await look(machine, home)).toMatchObject([{ ...session, status: "working" }]);
  database.exec("DELETE FROM message WHERE id = 'msg_busy'");
  expect(await look(machine, home)).toMatchObject([{ ...session, status: "idle" }]);
  database.exec(`INSERT INTO message (id, session_id, time_created, time_updated, data)
    SELECT 'msg_new', session_id, max(time_created) + 1, max(time_updated) + 1, '{"role":"user"}'
    FROM message`);
  expect(await look(machine, home)).toMatchObject([{ turns: 2, status: "working" }]);
  database.exec("DELETE FROM message WHERE id = 'msg_new'");
  database.exec("BEGIN EXCLUSIVE");
  expect(await look(machine, home)).toHaveLength(1);
  database.exec("ROLLBACK; DROP TABLE message");
  expect(await look(machine, home)).toHaveLength(1);
  database.close();
});

describe("an open call of opencode", () => {
  const call = (tool: string, input: object, status = "running") => ({
    ...{ type: "tool", tool, callID: "c" },
    state: { status, input },
  });
  const bash = call("bash", { command: "make all" });
  const minute = { at: NOW - 60_000 };

  test.each<[string, object, { at: number; runs?: string; began?: number }, string]>([
    ["a command that nothing runs", bash, minute, "waiting_approval process"],
    ["a command that a shell runs", bash, { ...minute, runs: "make all" }, "working transcript"],
    ["a command that just began", bash, { at: NOW - 500 }, "working transcript"],
    [
      "a command of a process that ended",
      bash,
      { ...minute, began: NOW - 1 },
      "working transcript",
    ],
    ["a patch", call("edit", { filePath: "a" }, "pending"), minute, "waiting_approval process"],
    ["a question", call("question", { questions: [] }), minute, "waiting_input transcript"],
    ["a tool without a process", call("webfetch", {}), minute, "working transcript"],
    ["a call that has ended", call("bash", {}, "completed"), minute, "working transcript"],
    ["a text", { type: "text", text: "x" }, minute, "working transcript"],
  ])("%s", async (_name, data, { at, runs, began = NOW - 3_600_000 }, expected) => {
    const home = emptyHome();
    const path = join(home, ".local/share/opencode/opencode.db");
    mkdirSync(dirname(path), { recursive: true });
    const database = new Sqlite(path);
    database.exec(readFileSync(fixture("opencode/opencode.sql"), "utf8"));
    database.prepare("INSERT INTO part VALUES ('prt_z', 'msg_busy', 'ses_x', ?, ?, ?)")
      .run(at, at, JSON.stringify(data));
    database.exec(`UPDATE session SET time_updated = ${NOW}`);
    database.close();
    const machine = new TestMachine();
    machine.add(50, "opencode", { cwd: ALPHA, started_at: began });
    if (runs) machine.running.push({ ...machine.running[0]!, pid: 51, argv: ["bash", "-c", runs] });
    const [found] = await look(machine, home);
    expect(`${found?.status} ${found?.status_source}`).toBe(expected);
  });
});

test("opencode: sessions below a session are its subagents; messages are counted in steps", async () => {
  const home = emptyHome();
  const path = join(home, ".local/share/opencode/opencode.db");
  mkdirSync(dirname(path), { recursive: true });
  const database = new Sqlite(path);
  database.exec(readFileSync(fixture("opencode/opencode.sql"), "utf8"));
  const parent = "ses_e07ecd67cffeb9BlEXGOSpzzpu";
  const add = database.prepare(
    `INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, agent,
      time_created, time_updated) VALUES (?, 'global', ?, 's', ?, 't', '1', ?, ?, ?)`,
  );
  add.run("ses_sub", parent, ALPHA, "explore", NOW, NOW - 5_000);
  add.run("ses_old", parent, ALPHA, "general", NOW, NOW - 60_000);
  const message = database.prepare("INSERT INTO message VALUES (?, ?, ?, ?, ?)");
  const text = JSON.stringify({ role: "user", x: "y".repeat(2_000) });
  database.exec("BEGIN");
  for (let at = 0; at < 3_000; at++) message.run(`msg_${at}`, parent, NOW + at, NOW + at, text);
  database.exec("COMMIT");
  database.close();
  const machine = new TestMachine();
  machine.add(50, "opencode", { cwd: ALPHA });
  const seen: (number | null)[] = [];
  while (seen.length < 200 && seen.at(-1) !== 3_001) {
    const [found] = await look(machine, home);
    expect(found!.subagents).toEqual([
      { id: "ses_sub", type: "explore", status: "working" },
      { id: "ses_old", type: "general", status: "idle" },
    ]);
    seen.push(found!.turns);
  }
  expect(new Set(seen)).toEqual(new Set([...seen.length > 1 ? [null] : [], 3_001]));
});

describe("Qwen Code's note of a session", () => {
  const STARTED = NOW - 60_000;
  const SESSION = "ec0b8633-0b80-469e-9efe-3fee13f4016f";

  function machineWith(home: string, note: object, lines: object[]): TestMachine {
    const chats = join(home, ".qwen/projects/-home-dev-proj-alpha/chats");
    mkdirSync(chats, { recursive: true });
    const known = { schema_version: 1, pid: 42, session_id: SESSION, work_dir: ALPHA };
    const started_at = (STARTED + 500) / 1000;
    const text = JSON.stringify({ ...known, started_at, qwen_version: "0.24.4", ...note });
    writeFileSync(join(chats, `${SESSION}.runtime.json`), text);
    writeFileSync(
      join(chats, `${SESSION}.jsonl`),
      lines.map((line) => `${JSON.stringify({ timestamp: timeAt(NOW - 30_000), ...line })}\n`)
        .join(""),
    );
    const machine = new TestMachine();
    const started = { cwd: ALPHA, started_at: STARTED };
    machine.add(40, "node /usr/bin/qwen", started);
    machine.add(41, "node /x/qwen-code/cli.js", { ...started, ppid: 40 });
    machine.add(42, "node /x/qwen-code/cli.js", { ...started, ppid: 41 });
    return machine;
  }

  const timeAt = (at: number) => new Date(at).toISOString();
  const call = (name: string, args: object = {}) => ({
    ...{ type: "assistant", uuid: name },
    message: { parts: [{ functionCall: { id: "c1", name, args } }] },
  });
  const shell = call("run_shell_command", { command: "touch a" });
  const result = {
    ...{ type: "tool_result", uuid: "r" },
    message: { parts: [{ functionResponse: { id: "c1", response: {} } }] },
  };

  test.each<[string, object[], string]>([
    ["a command that nothing runs", [shell], "waiting_approval process"],
    ["a file to be written", [call("write_file")], "waiting_approval process"],
    ["a question", [call("ask_user_question")], "waiting_input transcript"],
    ["a tool without a process", [call("web_fetch")], "working transcript"],
    ["a call with its result", [shell, result], "working transcript"],
    ["a call before a new request", [shell, { type: "user", uuid: "u" }], "working transcript"],
    ["no call", [{ type: "assistant", message: { parts: [{ text: "Hi" }] } }], "idle transcript"],
    // The result is in a line that is too long to be read.
    ["a long result", [shell, { ...result, x: "x".repeat(1e6) }], "working transcript"],
  ])("names its process: %s", async (_name, lines, expected) => {
    const home = emptyHome();
    const found = await look(machineWith(home, {}, lines), home);
    expect(found).toMatchObject([{ session_id: SESSION, pid: 42, version: "0.24.4" }]);
    expect(`${found[0]!.status} ${found[0]!.status_source}`).toBe(expected);
  });

  test.each<[string, object]>([
    ["of a process that ended", { pid: 999 }],
    ["of a process that had the pid before", { started_at: (STARTED - 3_600_000) / 1000 }],
    ["that is damaged", { pid: "42" }],
  ])("%s counts for nothing", async (_name, note) => {
    const home = emptyHome();
    const found = await look(machineWith(home, note, [shell]), home);
    expect(found).toMatchObject([{ pid: 40, session_id: SESSION }]);
  });
});

test.each<[string, number | null, string]>([
  ["nothing runs", null, "unknown process"],
  ["a process of the session began since", NOW - 29_000, "working transcript"],
  ["only older processes run", NOW - 3_600_000, "unknown process"],
])("Gemini CLI with an open call while %s", async (_name, began, expected) => {
  const home = emptyHome();
  const chats = join(home, ".gemini/tmp/alpha/chats");
  mkdirSync(chats, { recursive: true });
  const projects = { [ALPHA]: "alpha" };
  writeFileSync(join(home, ".gemini/projects.json"), JSON.stringify({ projects }));
  const timestamp = new Date(NOW - 30_000).toISOString();
  const lines = [
    { sessionId: "g1", startTime: timestamp, kind: "main" },
    { id: "u", timestamp, type: "user", content: [{ text: "Do it." }] },
    { id: "a", timestamp, type: "gemini", content: "", thoughts: [], model: "m" },
  ];
  writeFileSync(
    join(chats, "session-g1.jsonl"),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
  const machine = new TestMachine();
  machine.add(30, "gemini", { cwd: ALPHA, started_at: NOW - 60_000 });
  if (began !== null) machine.add(31, "bash -c x", { ppid: 30, started_at: began });
  const [found] = await look(machine, home);
  expect(`${found!.status} ${found!.status_source}`).toBe(expected);
});

test("Claude Code: each subagent has a record of its own", async () => {
  const home = homeWith({ ".claude": "claude/tree" });
  const session = "c642a251-c0c8-4215-810d-6c1428768dee";
  const project = join(home, ".claude/projects/-home-dev-proj-alpha");
  const folder = join(project, session, "subagents");
  const machine = new TestMachine();
  machine.add(21006, "claude", { start_time: `${BOOT}:75002`, cwd: ALPHA });
  // An unchanged folder is not read again, so its first look must not hide what begins later.
  utimesSync(project, NOW / 1000, NOW / 1000);
  expect(await look(machine, home)).toMatchObject([{ subagents: [] }]);
  mkdirSync(folder, { recursive: true });
  for (const [id, ago] of [["a1", 10], ["b2", 60]] as const) {
    const path = join(folder, `agent-${id}.jsonl`);
    writeFileSync(path, "{}\n");
    utimesSync(path, NOW / 1000 - ago, NOW / 1000 - ago);
  }
  const note = { agentType: "Explore", description: "Reads a secret plan" };
  writeFileSync(join(folder, "agent-a1.meta.json"), JSON.stringify(note));
  const [found] = await look(machine, home);
  expect(found!.subagents).toEqual([
    { id: "a1", type: "Explore", status: "working" },
    { id: "b2", type: null, status: "idle" },
  ]);
  expect(JSON.stringify(found)).not.toContain("secret plan");
});

test("Cursor: its record tells only when it was written", async () => {
  const home = emptyHome();
  const path = join(home, ".cursor/projects/home-dev-proj-alpha/agent-transcripts/t1/t1.jsonl");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "{}\n");
  const machine = new TestMachine();
  machine.add(60, "/home/dev/.local/bin/cursor-agent", { cwd: ALPHA });
  for (const [ago, status] of [[60, "working"], [600, "idle"]] as const) {
    utimesSync(path, NOW / 1000 - ago, NOW / 1000 - ago);
    expect(await look(machine, home)).toMatchObject([{ session_id: "t1", status, tokens: null }]);
  }
});

test.each([
  ["vim claude.md"],
  ["grep codex"],
  ["claude mcp serve"],
  ["codex mcp-server"],
  ["bash -c claude"],
  ["node server.js claude"],
  ["/opt/Claude/claude-helper --type=renderer"],
])("`%s` is no session", async (line) => {
  const machine = new TestMachine();
  machine.add(9, line, { cwd: ALPHA });
  expect(await look(machine, emptyHome())).toEqual([]);
});

test("another user's agent is not shown", async () => {
  const machine = new TestMachine();
  machine.add(9, "claude", { uid: 1001, cwd: ALPHA });
  expect(await look(machine, emptyHome())).toEqual([]);
});

test("a transcript that is a link is not read", async () => {
  const home = homeWith({ ".claude": "claude/tree" });
  const folder = join(home, ".claude/projects/-home-dev-proj-alpha");
  const name = "c642a251-c0c8-4215-810d-6c1428768dee.jsonl";
  writeFileSync(join(home, "elsewhere"), readFileSync(join(folder, name)));
  symlinkSync(join(home, "elsewhere"), join(folder, "link"));
  const path = join(home, ".claude/sessions/21006.json");
  writeFileSync(
    path,
    JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), sessionId: "link" }),
  );
  symlinkSync(join(home, "elsewhere"), join(folder, "link.jsonl"));
  const machine = new TestMachine();
  machine.add(21006, "claude", { start_time: `${BOOT}:75002`, cwd: ALPHA });
  expect(await look(machine, home)).toMatchObject([{ session_id: "link", tokens: null }]);
});
