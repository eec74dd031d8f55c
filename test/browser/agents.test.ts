import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { sendSignal } from "../../server/runtime/process_list.ts";
import { identify } from "../../server/runtime/processes.ts";
import { type ClaudeOptions, startFakeClaude } from "./fake_claude.ts";
import { Stage, until } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RTL = "\u202e";

/** The home of the person, whose agents the daemon watches. */
const person = mkdtempSync(join(tmpdir(), "gate-person-"));
const own = process.env["HOME"];

let stage: Stage;
let turn = 0;
/** The id of the current session. */
let id: string;
const started: number[] = [];
beforeAll(async () => {
  process.env["HOME"] = person;
  stage = await Stage.open(["my-app", "shop"]);
});
beforeEach(() => {
  id = `session-${++turn}`;
});
afterEach(async () => {
  for (const pid of started.splice(0)) sendSignal(pid, "SIGKILL");
  rmSync(join(person, ".claude"), { recursive: true, force: true });
  expect(await stage.clear()).toEqual([]);
});
afterAll(async () => {
  await stage?.close();
  process.env["HOME"] = own;
  rmSync(person, { recursive: true, force: true });
});

type Claude = Partial<Omit<ClaudeOptions, "person" | "folder">> & { project?: string };

/** Starts a fake Claude Code in a project, `my-app` without a choice. */
async function startClaude({ project = "my-app", ...options }: Claude = {}) {
  const place = { person, folder: join(stage.folder, project) };
  const claude = await startFakeClaude({ session_id: id, ...place, ...options });
  started.push(...claude.pids);
  return claude;
}

const cardOf = (page: Page, session = id) =>
  page.locator(`.agent[data-session="claude-code ${session}"]`);

async function axe(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    return violations.flatMap((one: { id: string; nodes: { html: string }[] }) =>
      one.nodes.map(({ html }) => `${one.id}: ${html}`)
    );
  });
}

const widthOver = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** Tells a rate limit to gate as Claude Code's status line does. */
function tellLimits(used: number): void {
  const resets_at = Math.round(Date.now() / 1000) + 3 * 3600 + 60;
  const file = join(stage.folder, "home", "run", "status-line-claude-code.json");
  const rate_limits = { five_hour: { used_percentage: used, resets_at } };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ at: Date.now(), rate_limits }));
}

test("a card tells what an agent does and uses, and follows its state", async () => {
  const { pid, registered } = await startClaude();
  const page = await stage.page("/agents?project=my-app");
  const card = cardOf(page);
  await card.getByText("works", { exact: true }).waitFor();
  const text = (await card.innerText()).replace(/\s+/g, " ");
  for (const part of ["Claude Code", "Bash", "opus", "15,045", `${pid}`, "version 2.1.328"]) {
    expect(text).toContain(part);
  }
  expect(text).toContain("unavailable: Claude Code records none");
  await card.locator("summary").filter({ hasText: "15,045" }).click();
  await card.getByText("15,000 read from the cache").waitFor();
  registered("waiting");
  await card.getByText("waits for your answer").waitFor();
  await page.getByText("1 waits for your answer").waitFor();
  await page.locator('[role="status"]', { hasText: "Claude Code waits for your answer" })
    .waitFor({ state: "attached" });
});

test("the daemon looks often only for a page that is seen, by one connection", async () => {
  const streams: string[] = [];
  const page = await stage.page("/approvals");
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.pathname === "/api/events") streams.push(url.searchParams.get("topics")!);
  });
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.getByRole("heading", { name: "Ports left behind" }).waitFor();
  await until("the page follows the agents", () => streams.length === 1);
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await until("the page stops to follow them", () => streams.length === 2);
  expect(streams).toEqual([
    "actions,approvals,sessions,agents",
    "actions,approvals,sessions",
  ]);
  // The page still receives what it received before.
  await stage.hold("live.ts", "x\n");
  await page.locator(".queue-row", { hasText: "live.ts" }).waitFor();
});

test("where gate holds the action of an agent, its card leads there and stands first", async () => {
  const { pid } = await startClaude({ status: "idle" });
  await startClaude({ session_id: `${id}-busy`, project: "shop" });
  const named = identify(pid)!;
  const session = await stage.api("POST", "/api/sessions?project=my-app", {
    ...{ agent: "claude-code", host: "claude-code" },
    process: { pid: named.pid, start_time: named.start_time },
  }, "agent");
  const body = {
    ...{ tool: "write_file", input: { path: "src/held.ts", content: "x\n" } },
    session_id: session.id,
  };
  const action = await stage.api("POST", "/api/actions?project=my-app", body, "agent");
  expect(action.status).toBe("pending");
  const page = await stage.page("/agents");
  const card = cardOf(page);
  await card.getByText("waits for your approval").waitFor();
  await cardOf(page, `${id}-busy`).waitFor();
  const first = page.locator(".agent").first();
  expect(await first.getAttribute("data-session")).toBe(`claude-code ${id}`);
  await page.keyboard.press("j");
  expect(await card.evaluate((one) => one === document.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("id") === action.id);
  await page.locator(".headline", { hasText: "src/held.ts" }).waitFor();
});

test("the scope is the dashboard's, and can be all projects; the URL holds it", async () => {
  await startClaude();
  await startClaude({ session_id: `${id}-shop`, project: "shop" });
  const page = await stage.page("/agents?project=my-app");
  await cardOf(page).waitFor();
  expect(await cardOf(page, `${id}-shop`).count()).toBe(0);
  await page.getByText(/\d+ more agents? outside of this project/).waitFor();
  await page.keyboard.press("s");
  await cardOf(page, `${id}-shop`).waitFor();
  expect(page.url()).toContain("scope=all");
  await page.getByRole("button", { name: "This project" }).click();
  await cardOf(page, `${id}-shop`).waitFor({ state: "detached" });
  expect(page.url()).not.toContain("scope=");
});

test("what is unsure is said to be, and bars say in words what they show", async () => {
  await startClaude();
  const page = await stage.page("/agents?project=shop");
  await alterSnapshots(page, (json) => ({
    sessions: json.sessions.map((one) => ({
      ...{ ...one, tokens_complete: false, stale: true, cost_usd: 1.234, cost_source: "recorded" },
      context: { used: 192_000, window: 200_000, percent: 96 },
      git: { branch: `feat/${RTL}x`, changed_files: 3 },
      turns: 12,
    })),
  }));
  await page.goto(`${stage.gate.url}/agents?project=my-app`);
  const card = cardOf(page);
  await card.waitFor();
  const text = (await card.innerText()).replace(/\s+/g, " ");
  for (
    const part of [
      ...["at least 15,045", "works (may be old)", "$1.23 recorded by Claude Code"],
      ...["96 %, 192,000 of 200,000 tokens full", "feat/[U+202E]x, 3 changed files", "Requests 12"],
    ]
  ) expect(text).toContain(part);
  const used = card.locator(".bar-used");
  const [bar, whole] = [await used.boundingBox(), await card.locator(".bar").boundingBox()];
  expect(bar!.width / whole!.width).toBeCloseTo(0.96, 2);
  expect(await axe(page)).toEqual([]);
});

test("projects with one agent each share a row", async () => {
  await startClaude();
  await startClaude({ project: "shop", session_id: `${id}-shop` });
  const page = await stage.page("/agents", { width: 1440 });
  const [one, other] = [cardOf(page), cardOf(page, `${id}-shop`)];
  for (const card of [one, other]) await card.waitFor();
  const [left, right] = [(await one.boundingBox())!, (await other.boundingBox())!];
  expect(left.y).toBe(right.y);
  expect(left.x).not.toBe(right.x);
});

test("cards keep their places while somebody is at them", async () => {
  await startClaude({ session_id: `${id}-a` });
  const { registered } = await startClaude({ session_id: `${id}-b`, status: "idle" });
  const page = await stage.page("/agents?project=my-app");
  const [a, b] = [cardOf(page, `${id}-a`), cardOf(page, `${id}-b`)];
  await b.getByText("idles").waitFor();
  const first = () => page.locator(".agent").first().getAttribute("data-session");
  expect(await first()).toBe(`claude-code ${id}-a`);
  await a.hover();
  registered("waiting");
  await b.getByText("waits for your answer").waitFor();
  expect(await first()).toBe(`claude-code ${id}-a`);
  await page.mouse.move(700, 5);
  registered("busy");
  await b.getByText("works", { exact: true }).waitFor();
  registered("waiting");
  await b.getByText("waits for your answer").waitFor();
  expect(await first()).toBe(`claude-code ${id}-b`);
});

test("a project without agents says so, and leads to those elsewhere", async () => {
  await startClaude();
  const page = await stage.page("/agents?project=shop");
  await page.getByRole("heading", { name: "No coding agent runs in this project" }).waitFor();
  await page.getByText("unavailable: opencode writes none to its database").waitFor();
  await page.getByRole("button", { name: "Show all projects" }).click();
  await cardOf(page).waitFor();
});

test("a machine without agents says so", async () => {
  const page = await stage.page("/agents?project=my-app");
  // Other tests of this machine may run a process of this name, or leave one behind.
  await alterSnapshots(page, () => ({ sessions: [], orphan_ports: [] }));
  await page.goto(`${stage.gate.url}/agents?scope=all`);
  await page.getByRole("heading", { name: "No coding agent runs", exact: true }).waitFor();
  await page.getByText("No process listens on a port after its session has ended.").waitFor();
  expect(await axe(page)).toEqual([]);
});

test("what a dead session left behind is ended by name, and only after a question", async () => {
  const { child, pid: parent } = await startClaude({ listens: "<script>" });
  const page = await stage.page("/agents?project=shop");
  const monitor = "/api/agent-monitor";
  let left: number | undefined;
  await until("the child listens", async () => {
    const { sessions } = await stage.api("GET", `${monitor}/snapshot`);
    const mine = sessions.find((one: { pid: number }) => one.pid === parent);
    left = mine?.children.find((one: { ports: object[] }) => one.ports.length > 0)?.pid;
    return left !== undefined;
  });
  child.kill("SIGKILL");
  await once(child, "exit");
  const button = page.getByRole("button", { name: `Terminate process ${left}`, exact: true });
  await button.waitFor({ timeout: 40_000 });
  const row = page.locator(".orphans li", { hasText: `process ${left}` });
  expect(await row.innerText()).toContain("<script>");
  expect((await row.innerText()).replace(/\s+/g, " ")).toContain(`Claude Code, session ${id}`);
  expect(await axe(page)).toEqual([]);
  await button.click();
  const dialog = page.getByRole("dialog", { name: `Terminate process ${left}?` });
  await dialog.getByText("node -e").waitFor();
  expect(await axe(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Keep it" }).click();
  expect(identify(left!)).not.toBeNull();

  const sent = page.waitForRequest((request) => request.method() === "DELETE");
  await button.focus();
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: `Terminate process ${left}` }).click();
  expect((await sent).postDataJSON()).toEqual({ start_time: expect.stringMatching(/:\d+$/) });
  await page.getByText(`Process ${left} has ended`).waitFor();
  await button.waitFor({ state: "detached" });
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("agents-orphans");
  expect(identify(left!)).toBeNull();

  const ended = page.locator(".ended tbody tr", { hasText: "15,045" }).first();
  expect((await ended.innerText()).replace(/\s+/g, " ")).toContain("Claude Code in my-app");
  await page.getByLabel("Agent").selectOption("codex");
  await page.getByText("No session of this agent has ended yet.").waitFor();
  expect(page.url()).toContain("agent=codex");
});

test("a process that changed since it was listed is not ended, and the page says why", async () => {
  const page = await stage.page("/agents?project=my-app");
  const orphan = {
    ...{ pid: process.pid, command: "vite", memory_bytes: 1, start_time: "x:1" },
    ports: [{ port: 3000, address: "127.0.0.1", family: 4 }],
    ...{ agent: "codex", session_id: "gone", project_id: null, found_by: "marked" },
    first_seen_at: new Date().toISOString(),
  };
  await alterSnapshots(page, () => ({ orphan_ports: [orphan] }));
  await page.reload();
  await page.getByRole("button", { name: `Terminate process ${process.pid}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: `Terminate process ${process.pid}` }).click();
  await dialog.getByRole("alert").getByText(`Cannot terminate process ${process.pid}`).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test.each(
  [["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390], ["light", 1024]] as const,
)("hostile text is shown as text, in %s at %i px", async (scheme, width) => {
  const long = `/tmp/<script>alert(1)</script>${RTL}${"a".repeat(3_900)}`;
  const model = `<img src=x onerror=alert(1)>${RTL}${"m".repeat(4_000)}`;
  await startClaude({ cwd: long, status: "waiting" });
  const folder = join(stage.folder, "my-app", `<b>${RTL}x`);
  mkdirSync(folder, { recursive: true });
  await startClaude({ cwd: folder, model, session_id: `${id}-model`, listens: `${RTL}<script>` });
  tellLimits(width === 390 ? 97 : 84);
  const page = await stage.page("/agents?project=my-app&scope=all", {
    ...{ scheme, width, height: 1000 },
  });
  await cardOf(page, `${id}-model`).waitFor();
  const card = cardOf(page);
  await card.waitFor();
  const before = await card.innerText();
  expect(before).toContain("<script>");
  expect(before).toContain("[U+202E]");
  expect(await cardOf(page, `${id}-model`).innerText()).toContain("onerror=alert(1)>[U+202E]mm");
  expect(await page.locator(".agent script, .agent img, .agent b").count()).toBe(0);
  await page.getByText(width === 390 ? "97 % used" : "84 % used").waitFor();
  await page.getByText(/resets in 3 h/).waitFor();
  expect(await widthOver(page)).toBe(0);
  expect(await axe(page)).toEqual([]);
  await card.getByRole("button", { name: /Show 3,\d+ more characters/ }).click();
  expect((await card.locator(".agent-cwd").innerText()).length).toBeGreaterThan(3_900);
  expect(await widthOver(page)).toBe(0);
  expect(await axe(page)).toEqual([]);
});

/** Changes what the page hears from the monitor; a request that the end of the test cuts off is none. */
async function alterSnapshots(page: Page, change: (json: { sessions: object[] }) => object) {
  await page.route("**/api/agent-monitor/snapshot", async (route) => {
    try {
      const response = await route.fetch();
      const json = await response.json();
      await route.fulfill({ response, json: { ...json, ...change(json) } });
    } catch (error) {
      if (!/disposed|closed/.test(String(error))) throw error;
    }
  });
}

test("a session's page and card show its first request, if the config allows it; else the page says so", async () => {
  const config = join(stage.folder, "home", "config.json");
  const before = readFileSync(config, "utf8");
  await startClaude({ asks: `mend the ${RTL}login page, token ghp_${"a1B2".repeat(9)}` });
  const call = {
    ...{ hook_event_name: "PreToolUse", session_id: id, cwd: join(stage.folder, "my-app") },
    ...{ tool_name: "Write", tool_use_id: "t1" },
    tool_input: { file_path: join(stage.folder, "my-app", "free", "a.ts"), content: "x" },
  };
  await stage.api("POST", "/api/hooks/claude-code", call, "agent");
  const { items } = await stage.api("GET", "/api/sessions?project=my-app");
  const path = `/sessions/${items[0].id}`;
  const page = await stage.page("/agents");
  await cardOf(page).waitFor();
  const hint = page.getByText("First requests are hidden");
  await hint.waitFor();
  expect(await axe(page)).toEqual([]);
  await page.goto(stage.gate.url + path);
  await page.getByRole("heading", { name: "Write free/a.ts" }).waitFor();
  try {
    writeFileSync(
      config,
      JSON.stringify({ ...JSON.parse(before), agentMonitor: { showTexts: true } }),
    );
    await expect.poll(async () => {
      const { items } = await stage.api("GET", "/api/agent-monitor/sessions?scope=all");
      // The sessions of earlier tests stay listed for some time after their end.
      return items.find((one: { session_id: string }) => one.session_id === id)?.title ?? null;
    }).not.toBe(null);
    await page.reload();
    const head = page.getByRole("heading", { name: /^mend the/ });
    await head.waitFor();
    const text = await head.innerText();
    expect(text).toContain("[U+202E]login page");
    expect(text).not.toContain("ghp_");
    await page.getByText("titled by its first request, in the agent’s record").waitFor();
    expect(await axe(page)).toEqual([]);
    const held = { ...call, tool_use_id: "t2" };
    held.tool_input = {
      ...call.tool_input,
      file_path: join(stage.folder, "my-app", "src", "held.ts"),
    };
    const waits = stage.api("POST", "/api/hooks/claude-code", held, "agent");
    await page.goto(`${stage.gate.url}/approvals?project=my-app`);
    const asked = page.locator(".context .asked");
    await asked.getByText(/^mend the/).waitFor();
    expect(await asked.innerText()).not.toContain("ghp_");
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await waits;
    await page.goto(`${stage.gate.url}/agents`);
    await cardOf(page).getByText(/^mend the/).waitFor();
    expect(await hint.count()).toBe(0);
  } finally {
    writeFileSync(config, before);
  }
});
