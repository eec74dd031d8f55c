import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openConnection, scopedClient } from "../../cli/daemon/connect.ts";
import { unwrap } from "../../server/client.ts";
import { World } from "../e2e/world.ts";
import { HELD, SURROUNDED, type Try } from "./hostile_surroundings.ts";
import { ACTS, around, COLOUR, FOLDERS, GIVEN, TEXTS } from "./hostile_texts.ts";
import { execs } from "./scenario/harness.ts";
import { installFakeSystemd } from "./service/fake_manager.ts";
import { createTerminal, type Ended, type TestTerminal } from "./terminal.ts";

const runtime = "Deno" in globalThis ? "deno" : "node";
/** What hangs ends with the test; a busy machine alone fails nothing. */
const PATIENT = { timeout: 110_000, interval: 10 };

describe.each(Object.entries(FOLDERS))("in folders with a %s name", (kind, name) => {
  let terminal: TestTerminal;
  let project: string;

  beforeAll(async () => {
    terminal = await createTerminal();
    const home = join(terminal.folder, name);
    project = join(home, name);
    mkdirSync(project, { recursive: true });
    const { bin } = installFakeSystemd(terminal.folder);
    Object.assign(terminal.env, {
      HOME: home,
      GATE_SYSTEM_PATH: bin,
      BROWSER: join(home, "browser"),
      EDITOR: join(home, "editor"),
    });
    writeFileSync(join(terminal.folder, "fake-state", "journal"), TEXTS.join("\n"));
  });
  afterAll(async () => {
    await terminal?.run(["daemon", "stop"]);
    terminal?.close();
  });

  // In a home with control characters no policy can be evaluated, so nothing is ever held.
  const isPossible = ({ until }: Try) => kind === "mild" || until !== HELD;
  const rows = Object.entries(SURROUNDED).flatMap(([command, tries]) =>
    tries.filter(isPossible).map((one, at) => [command, at + 1, one] as const)
  );
  test.each(rows)("gate %s (%i) prints nothing that acts on a terminal", async (_, __, one) => {
    if (one.isHeld) await hold(terminal);
    for (const person of one.isPiped ? [false] : [false, true]) {
      const { stdout, stderr } = await runOnce(one, person);
      expect(stdout + stderr).not.toBe("");
      const shown = (text: string) => person ? text.replace(SCREEN, "") : text;
      check(one.args, { stdout: shown(stdout), stderr: shown(stderr) });
    }
  });

  async function runOnce({ args, input, until }: Try, person: boolean): Promise<Ended> {
    const options = { cwd: project, columns: 80, ...!person && input && { input } };
    let hasEnded = false;
    const running = terminal.run(args, { ...options, person }).finally(() => hasEnded = true);
    if (until !== undefined) {
      const isPrinted = () => hasEnded || terminal.printed().includes(until);
      await vi.waitUntil(isPrinted, PATIENT);
      terminal.signal("SIGINT");
    }
    // A person answers with Ctrl-C what the command asks.
    const leave = () => {
      if (person) terminal.type("\x03");
      return hasEnded;
    };
    await vi.waitUntil(leave, PATIENT);
    return await running;
  }
});

/** The sequences by which gate's own questions and full screen move the cursor. */
// deno-lint-ignore no-control-regex
const SCREEN = /\x1b\[[?\d;]*[A-HJKhlm]|\r/g;

/** Holds a command of an agent; its name and its text act on a terminal. */
async function hold(terminal: TestTerminal): Promise<void> {
  const cwd = join(terminal.folder, "project");
  const policies = { defaultEffect: "ask", sandbox: { mode: "off" } };
  writeFileSync(join(cwd, "gate.config.json"), JSON.stringify({ id: "plain", policies }));
  expect(await terminal.run(["init", "--yes"], { cwd })).toMatchObject({ code: 0 });
  const around = { env: terminal.env, cwd, pid: 1 };
  const client = scopedClient(await openConnection(around, { scope: "agent" }), "plain");
  const agent = GIVEN.join().slice(0, 200);
  const opened = await unwrap(client.api.sessions.$post({ json: { agent, root: cwd } }));
  const input = { command: `${HELD} ${TEXTS.join(" ")}` };
  const json = { tool: "run_command", input, session_id: opened.id };
  const headers = { "x-gate-session": opened.session_secret };
  const { status, decision } = await unwrap(client.api.actions.$post({ json }, { headers }));
  expect(status, decision.reason).toBe("pending");
}

describe("commands that print for a program", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create(runtime);
    await world.init({ defaultEffect: "ask", blockedPaths: [".env"] });
  });
  afterAll(() => world?.close());

  test("gate hook prints one line of JSON", async () => {
    for (const text of GIVEN) {
      const tool_input = { file_path: join(world.project, ".env"), content: text };
      const event = { hook_event_name: "PreToolUse", tool_name: "Write", session_id: text };
      const input = JSON.stringify({ ...event, cwd: world.project, tool_input });
      const { stdout, stderr } = await world.run(["hook", "claude-code"], { input });
      expect(JSON.stringify(JSON.parse(stdout))).toContain(".env");
      check(["hook"], { stdout: "", stderr });
      check(["hook"], { ...await world.run(["hook", text], { input }), stdout: "" });
    }
  });

  test("gate mcp prints lines of JSON", async () => {
    const requests = GIVEN.map((text, id) => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call" },
      params: { name: text, arguments: { path: text } },
    }));
    const input = requests.map((one) => JSON.stringify(one) + "\n").join("");
    const { stdout, stderr } = await world.run(["mcp", "--project", "demo"], { input });
    const answers = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    expect(answers.map(({ jsonrpc }) => jsonrpc)).toEqual(["2.0", "2.0"]);
    check(["mcp"], { stdout: "", stderr });
  });
});

test("gate man prints the same in every folder", async () => {
  const terminal = await createTerminal();
  try {
    const { stdout } = await terminal.run(["man"]);
    const home = join(terminal.folder, FOLDERS.wild);
    mkdirSync(home);
    Object.assign(terminal.env, { HOME: home, GATE_HOME: join(home, "gate") });
    expect((await terminal.run(["man"], { cwd: home })).stdout).toBe(stdout);
    check(["man"], { stdout, stderr: "" });
  } finally {
    terminal.close();
  }
});

test("gate demo prints no folder that acts on a terminal", async () => {
  const world = await World.create(runtime, { proof: "none" });
  try {
    world.env["TMPDIR"] = join(world.folder, FOLDERS.mild);
    mkdirSync(world.env["TMPDIR"]);
    const ended = await world.run(["demo"], { cwd: world.env["TMPDIR"] });
    expect(ended.stdout).toContain("This demo uses a real MCP client");
    check(["demo"], ended);
  } finally {
    await world.close();
  }
});

describe("gate scenario", () => {
  let terminal: TestTerminal;
  let server: Server;
  let url: string;
  beforeAll(async () => {
    terminal = await createTerminal();
    server = createServer((_, response) => {
      response.statusCode = 500;
      response.end(TEXTS.join("\n"));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [one] = execs({ mode: "http", method: "GET", path: "/x" });
    const odd = TEXTS.map((text, at) => ({
      ...one!,
      scenario_id: `TS-${at}`,
      title: text,
      confidence_area: text,
      expected_behavior: text,
    }));
    const file = (name: string, value: unknown) =>
      writeFileSync(join(terminal.folder, "project", name), JSON.stringify(value));
    file("odd.json", odd);
    file("broken.json", odd.map((each) => ({ ...each, [each.title]: 1, priority: each.title })));
    file("openapi.json", {
      openapi: "3.1.0",
      info: { title: GIVEN[0], version: GIVEN[1] },
      paths: Object.fromEntries(GIVEN.map((text) => [`/${text}`, {
        get: { operationId: text, summary: text, responses: { 200: { description: text } } },
      }])),
    });
  });
  afterAll(() => {
    server?.close();
    terminal?.close();
  });

  test.each([
    ...["text", "json", "markdown", "brief"].map((format) =>
      `run --scenarios odd.json --target URL --format ${format}`
    ),
    "run --scenarios odd.json --target URL --verbose",
    "run --scenarios broken.json --target URL",
    "run --spec openapi.json --target URL --verbose",
    "run --target TEXT",
    "run --scenarios TEXT",
    "list --scenarios odd.json",
    "list --spec openapi.json",
    "list --scenarios TEXT",
    "validate odd.json",
    "validate broken.json",
    "validate openapi.json",
    "validate TEXT",
    "schema TEXT",
    "schema",
    "init TEXT",
    "TEXT",
    "--TEXT",
  ])("gate scenario %s prints nothing that acts on a terminal", async (line) => {
    for (const text of line.includes("TEXT") ? GIVEN : [""]) {
      const args = line.split(" ").map((word) => word.replace("TEXT", text).replace("URL", url));
      for (const person of [false, true]) {
        check(args, await terminal.run(["scenario", ...args], { person, columns: 80 }));
      }
    }
  });
});

function check(args: string[], { stdout, stderr }: Pick<Ended, "stdout" | "stderr">): void {
  for (const text of [stdout, stderr]) {
    const bare = text.replace(COLOUR, "");
    expect(bare.match(ACTS)?.[0], `${JSON.stringify(args)}: ${around(bare)}`).toBeUndefined();
  }
}
