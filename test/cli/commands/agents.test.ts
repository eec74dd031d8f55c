import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { displayWidth } from "../../../cli/terminal/width.ts";
import { sendSignal } from "../../../server/runtime/process_list.ts";
import { identify } from "../../../server/runtime/processes.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

/** Other agents may run on this machine. */
const SESSION = `s-${crypto.randomUUID()}`;

const WAIT = { timeout: 60_000, interval: 100 };

let gated: GatedProject;
const started: number[] = [];
beforeEach(async () => {
  gated = await openGatedProject();
});
afterEach(async () => {
  for (const pid of started.splice(0)) sendSignal(pid, "SIGKILL");
  await gated.close();
});

/** A process that calls itself `claude`, with the files that Claude Code keeps for its sessions. */
async function startClaude(status: string) {
  const { folder, terminal } = gated;
  const code = "require('net').createServer().listen(0, '127.0.0.1'); console.log(process.pid);";
  const env = {
    ...{ PATH: terminal.env.PATH, CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: SESSION, CODE: code },
  };
  const script = 'node -e "$CODE" & exec -a claude sleep 1000';
  // A bash whose input is a socket reads the startup file of the person who runs the tests.
  const child = spawn("bash", ["--norc", "-c", script], { cwd: folder, env });
  const [listening] = await once(child.stdout, "data");
  started.push(child.pid!, Number(String(listening)));
  const home = join(terminal.folder, ".claude");
  const at = { cwd: folder, startedAt: Date.now(), procStart: ticksOf(child.pid!) };
  write(join(home, "sessions", `${child.pid}.json`), {
    ...{ pid: child.pid, sessionId: SESSION, version: "2.1.328", status, ...at },
  });
  const content = [{ type: "text", text: "secret" }, { type: "tool_use", id: "t", name: "Bash" }];
  const usage = { input_tokens: 3, output_tokens: 42, cache_read_input_tokens: 15_000 };
  const message = { id: "m1", model: "opus", usage, content };
  write(join(home, "projects", folder.replaceAll(/[^A-Za-z0-9]/g, "-"), `${SESSION}.jsonl`), {
    ...{ type: "user", timestamp: new Date().toISOString() },
    message: { role: "user", content: "mend the login" },
  }, {
    ...{ type: "assistant", requestId: "r", timestamp: new Date().toISOString(), message },
  });
  return child;
}

function ticksOf(pid: number): string {
  return identify(pid)!.start_time.split(":").at(-1)!;
}

function write(path: string, ...lines: object[]): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

test("a session is shown, then kept in the history; what it left behind is ended", async () => {
  const child = await startClaude("busy");
  const all = (await gated.json("agents", "--json")).sessions;
  const sessions = all.filter((one: { session_id: string }) => one.session_id === SESSION);
  expect(sessions).toMatchObject([{
    ...{ session_id: SESSION, agent: "claude-code", pid: child.pid, project_id: "web" },
    ...{ status: "working", status_source: "registry", tokens: { total: 15_045 } },
    ports: [{ address: "127.0.0.1" }],
  }]);
  expect(JSON.stringify(sessions)).not.toContain("secret");
  const { stdout } = await gated.good("agents");
  expect(stdout).toMatch(/^Claude Code\s+works\s+web\s+\S+\s+15 k tokens\s+:\d+/m);
  expect(stdout).not.toContain("mend the login");
  write(join(gated.terminal.folder, ".gate", "config.json"), {
    ...{ approvals: { proof: "token" }, agentMonitor: { showTexts: true } },
  });
  await vi.waitFor(async () => {
    const { stdout: told } = await gated.good("agents");
    expect(told).toMatch(/^ {2}asked: mend the login$/m);
  }, WAIT);
  expect(await gated.json("agents", "--project", "web", "--json"))
    .toMatchObject({ sessions: [{ session_id: SESSION }] });

  child.kill("SIGKILL");
  await once(child, "exit");
  let orphans: { pid: number }[] = [];
  for (const until = Date.now() + 30_000; orphans.length === 0 && Date.now() < until;) {
    const { orphan_ports } = await gated.json("agents", "--json");
    orphans = orphan_ports.filter((one: { session_id: string }) => one.session_id === SESSION);
    await wait(500);
  }
  const [{ pid }] = orphans as [{ pid: number }];
  started.push(pid);
  expect(await gated.json("agents", "history", "--json")).toMatchObject([
    { session_id: SESSION, agent: "claude-code", end_reason: "killed", tokens: { total: 15_045 } },
  ]);
  expect((await gated.good("agents")).stdout).toContain("gate agents terminate <pid>");
  const asked = await gated.terminal.run(["agents", "terminate", String(pid)]);
  expect(asked).toMatchObject({ code: 64, stdout: "" });
  expect(await gated.json("agents", "terminate", String(pid), "--yes", "--json"))
    .toMatchObject({ pid, outcome: "terminated", signal: "SIGTERM" });
  const again = await gated.terminal.run(["agents", "terminate", String(pid), "--yes"]);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toContain("gate agents");
});

test.each([120, 80, 60])("the table fits a terminal of %i columns", async (columns) => {
  await startClaude("waiting");
  const input = JSON.stringify({
    rate_limits: { seven_day: { used_percentage: 42.5, resets_at: 4_000_000_000 } },
  });
  await gated.terminal.run(["statusline"], { input });
  const lines = async () => {
    const { stdout } = await gated.terminal.run(["agents"], { person: true, columns });
    return stripVTControlCharacters(stdout).trimEnd().split("\n");
  };
  const [first = "", ...rest] = await lines();
  expect(first).toMatch(/^Claude Code {2}waits for an answer {2}web {2,}\S+/);
  expect(first.includes("15 k tokens")).toBe(columns >= 80);
  expect(rest.join("\n")).toMatch(/^ {2}Claude Code {2}7 d {2}42.5 % used {2}resets in \d+d$/m);
  for (const line of [first, ...rest]) {
    expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    expect(line).not.toMatch(/^│/);
  }
});

test("--watch shows each change in the size of the terminal, until it is interrupted", async () => {
  const { pid } = await startClaude("busy");
  const { terminal } = gated;
  const running = terminal.run(["agents", "--watch"], { person: true, columns: 80 });
  /** The page that the terminal shows now. */
  const page = () => terminal.printed().split("\x1b[3J").at(-1)!;
  await vi.waitFor(() => expect(page()).toMatch(/^Claude Code {2}works/m), WAIT);
  const path = join(terminal.folder, ".claude", "sessions", `${pid}.json`);
  write(path, { ...JSON.parse(readFileSync(path, "utf8")), status: "waiting" });
  terminal.resize(60, 20);
  await vi.waitFor(() => {
    const shown = stripVTControlCharacters(page());
    expect(shown).toMatch(/^Claude Code {2}waits for an answer {2}web/m);
    expect(shown).not.toContain("tokens");
  }, WAIT);
  terminal.signal("SIGINT");
  expect(await running).toMatchObject({ code: 0, stderr: "" });
});

test("a machine without agents is said to have none", async () => {
  expect((await gated.good("agents", "--project", "web")).stdout)
    .toMatch(/^No coding agent runs\.\n/);
  expect((await gated.good("agents", "history")).stdout).toBe("No session has ended yet.\n");
  expect(await gated.terminal.run(["agents", "--project", "none"])).toMatchObject({ code: 1 });
});

test("the status line keeps the limits, calls the one that stood there, and goes again", async () => {
  const settings = join(gated.terminal.folder, ".claude", "settings.json");
  const before = { model: "opus", statusLine: { type: "command", command: "echo 'my line'" } };
  write(settings, before);
  await gated.good("global-setup", "--host", "claude-code", "--statusline");
  await gated.good("global-setup", "--host", "claude-code", "--statusline");
  const { statusLine, model } = JSON.parse(readFileSync(settings, "utf8"));
  expect(model).toBe("opus");
  expect(statusLine.command).toContain("statusline --then");
  const input = JSON.stringify({
    ...{ model: { display_name: "Opus" }, context_window: { used_percentage: 12.4 } },
    rate_limits: { five_hour: { used_percentage: 42, resets_at: 4_000_000_000 } },
  });
  const line = await gated.terminal.run(["statusline", "--then", "echo 'my line'"], { input });
  expect(line).toMatchObject({ code: 0, stdout: "my line\n" });
  const alone = await gated.terminal.run(["statusline"], { input });
  expect(alone).toMatchObject({ code: 0, stdout: "Opus · context 12 %\n" });
  expect(await gated.terminal.run(["statusline"], { input: "no JSON" })).toMatchObject({ code: 0 });
  const { rate_limits } = await gated.json("agents", "--json");
  expect(rate_limits[0]).toMatchObject({
    ...{ agent: "claude-code", status: "known", stale: false },
    limits: [{ id: "five_hour", window_minutes: 300, used_percent: 42 }],
  });
  await gated.good("global-setup", "--host", "claude-code", "--remove");
  expect(JSON.parse(readFileSync(settings, "utf8"))).toEqual(before);
  expect(existsSync(settings)).toBe(true);
});
