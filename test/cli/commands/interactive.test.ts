import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { decideByToken, until } from "../../e2e/world.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

vi.setConfig({ testTimeout: 60_000 });

const ENTER = "\r";
const DOWN = "\x1b[B";
const UP = "\x1b[A";
const CTRL_C = "\x03";

// deno-lint-ignore no-control-regex
const KEY = /\x1b\[.|./gs;

let terminal: TestTerminal;
let file: string;
beforeEach(async () => {
  terminal = await createTerminal({ NO_COLOR: "1" });
  decideByToken(join(terminal.folder, ".gate"));
  file = join(terminal.folder, "project", "gate.config.json");
});
afterEach(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

/** Types the keys when the question appears. */
async function answer(question: string, keys: string): Promise<void> {
  await until(`"${question}" is asked`, () => terminal.printed().includes(question, from));
  from = terminal.printed().length;
  for (const key of keys.match(KEY)!) terminal.type(key);
}
let from = 0;

/** Waits for the text, so that the next question is a new one. */
async function seen(text: string): Promise<void> {
  await until(`"${text}" is shown`, () => terminal.printed().includes(text, from));
  from = terminal.printed().indexOf(text, from) + text.length;
}
beforeEach(() => void (from = 0));

test("init asks questions, shows the config, and writes it", async () => {
  const ended = terminal.run(["init"], { person: true });
  await answer("Name of the project", ENTER);
  await answer("Policy", UP + ENTER);
  await answer("Inherit the rules", ENTER);
  await answer("Which agents work here", DOWN + " " + ENTER);
  await answer("Write gate.config.json?", "y");
  expect(await ended).toMatchObject({ code: 0 });
  expect(terminal.printed()).toContain(`Creates ${file}`);
  const config = JSON.parse(readFileSync(file, "utf8"));
  expect(config).toMatchObject({ platforms: ["claude-code"], policies: { defaultEffect: "ask" } });
  expect(config.id).toMatch(/^project-/);
});

test.each(["Name of the project", "Policy", "Write gate.config.json?"])(
  "init interrupted at %j writes nothing",
  async (last) => {
    const ended = terminal.run(["init"], { person: true });
    const questions = ["Name of the project", "Policy", "Inherit", "Which agents", "Write gate"];
    for (const question of questions) {
      const stops = last.startsWith(question);
      await answer(question, stops ? CTRL_C : ENTER);
      if (stops) break;
    }
    expect(await ended).toMatchObject({ code: 1 });
    expect(existsSync(file)).toBe(false);
  },
);

test("init asks nothing if CI is set", async () => {
  terminal.env.CI = "true";
  expect(await terminal.run(["init"], { person: true })).toMatchObject({ code: 64 });
});

test("watch lets a person review actions one after the other", async () => {
  writeFileSync(file, JSON.stringify({ id: "web", policies: { defaultEffect: "ask" } }));
  expect(await terminal.run(["init", "--yes"])).toMatchObject({ code: 0 });
  const ids: string[] = [];
  for (const path of ["yes.txt", "no.txt", "absent.txt"]) {
    const write = { tool: "write_file", input: { path, content: path } };
    const body = JSON.stringify(
      path === "absent.txt" ? { tool: "read_file", input: { path } } : write,
    );
    const { stdout } = await terminal.run(
      ["api", "POST", "/api/actions?project=web", "--scope", "agent", "-d", body],
    );
    ids.push(JSON.parse(stdout).id);
  }
  const watching = terminal.run(["watch"], { person: true });
  await answer("Approve this action?", UP + UP + ENTER);
  await seen("✓ approved");
  await seen(ids[1]!);
  await answer("Approve this action?", UP + ENTER);
  await answer("Why? The agent sees the reason.", `elsewhere${ENTER}`);
  await seen("✓ rejected");
  await seen(ids[2]!);
  await answer("Approve this action?", UP + UP + ENTER);
  await seen("✗ approved, but the execution failed: Cannot read");
  terminal.signal("SIGINT");
  expect(await watching).toMatchObject({ code: 0 });
  const show = async (id: string) =>
    JSON.parse((await terminal.run(["show", id, "--json"])).stdout);
  expect(await show(ids[0]!)).toMatchObject({ status: "approved" });
  expect(await show(ids[1]!)).toMatchObject({ status: "rejected", reason: "elsewhere" });
  expect(readFileSync(join(terminal.folder, "project", "yes.txt"), "utf8")).toBe("yes.txt");
});

test("output on a terminal is coloured unless NO_COLOR is set", async () => {
  const coloured = await createTerminal({ TERM: "xterm" });
  writeFileSync(
    join(coloured.folder, "project", "gate.config.json"),
    JSON.stringify({ id: "web", policies: { defaultEffect: "ask" } }),
  );
  const ask = (person: boolean) =>
    coloured.run(["policy", "test", "--command", "make"], { person });
  expect((await ask(true)).stdout).toContain("\x1b[33mask\x1b[39m");
  expect((await ask(false)).stdout).toMatch(/^ask: /);
  coloured.env.NO_COLOR = "1";
  expect((await ask(true)).stdout).toMatch(/^ask: /);
  await coloured.run(["daemon", "stop"]);
  coloured.close();
});
