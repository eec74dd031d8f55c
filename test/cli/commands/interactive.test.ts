import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { decideByToken, until } from "../../e2e/world.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

const ENTER = "\r";
const DOWN = "\x1b[B";
const UP = "\x1b[A";
const CTRL_C = "\x03";
const CTRL_D = "\x04";

// deno-lint-ignore no-control-regex
const KEY = /\x1b\[.|./gs;

let terminal: TestTerminal;
let file: string;
beforeEach(async () => {
  // Printed one below the other; the full screen is watch_screen.test.ts.
  terminal = await createTerminal({ NO_COLOR: "1", TERM: "dumb" });
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
  await answer("Id of the project", ENTER);
  await answer("Policy", UP + ENTER);
  await answer("Inherit the rules", ENTER);
  await answer("Which agents work here", DOWN + " " + ENTER);
  await answer("Write gate.config.json?", "y");
  expect(await ended).toMatchObject({ code: 0 });
  expect(terminal.printed()).toContain(`Creates ${file}`);
  expect(terminal.printed()).toMatch(/asks about \d+ of 100 harmless commands/);
  const config = JSON.parse(readFileSync(file, "utf8"));
  expect(config).toMatchObject({ platforms: ["claude-code"], policies: { defaultEffect: "ask" } });
  expect(config.id).toMatch(/^project-/);
});

test.each(
  ["Id of the project", "Policy", "Write gate.config.json?"].flatMap((last) => [
    { last, key: CTRL_C },
    { last, key: CTRL_D },
  ]),
)(
  "init interrupted at $last with $key writes nothing",
  async ({ last, key }) => {
    const ended = terminal.run(["init"], { person: true });
    const questions = ["Id of the project", "Policy", "Inherit", "Which agents", "Write gate"];
    for (const question of questions) {
      const stops = last.startsWith(question);
      await answer(question, stops ? key : ENTER);
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
  await seen("a approve  r reject  e edit  j next  k previous  ? help  q quit");
  terminal.type("a");
  await seen("✓ approved, succeeded: yes.txt");
  await seen(ids[1]!);
  await seen("Approve this action?");
  terminal.type("r");
  await answer("Why? The agent sees the reason.", `elsewhere${ENTER}`);
  await seen("✓ rejected: no.txt");
  await seen(ids[2]!);
  await seen("Approve this action?");
  terminal.type("a");
  await seen("✗ approved, but the execution failed: absent.txt");
  await seen("No action is held now.");
  terminal.type("q");
  const ended = await watching;
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.stderr).toContain('Cannot read "absent.txt": there is no such file');
  const show = async (id: string) =>
    JSON.parse((await terminal.run(["show", id, "--json"])).stdout);
  expect(await show(ids[0]!)).toMatchObject({ status: "approved" });
  expect(await show(ids[1]!)).toMatchObject({ status: "rejected", reason: "elsewhere" });
  expect(readFileSync(join(terminal.folder, "project", "yes.txt"), "utf8")).toBe("yes.txt");
});

describe("the keys of watch", () => {
  let ids: string[];
  let watching: ReturnType<TestTerminal["run"]>;

  beforeEach(async () => {
    writeFileSync(file, JSON.stringify({ id: "web", policies: { defaultEffect: "ask" } }));
    expect(await terminal.run(["init", "--yes"])).toMatchObject({ code: 0 });
    ids = [await hold("one.txt"), await hold("two.txt"), await hold("three.txt")];
    watching = terminal.run(["watch"], { person: true });
    await seen(ids[0]!);
    await seen("Approve this action? (1 of 3 held actions)");
  });

  const quit = async () => {
    terminal.type("q");
    const ended = await watching;
    expect(ended).toMatchObject({ code: 0 });
    return ended;
  };

  test("j and k and the arrows walk through the queue; nothing is decided", async () => {
    terminal.type("k");
    await seen("This is the first one.");
    await seen("Approve this action?");
    terminal.type("j");
    await seen("(2 of 3 held actions)");
    terminal.type(DOWN);
    await seen(ids[2]!);
    await seen("(3 of 3 held actions)");
    terminal.type("j");
    await seen("This is the last one.");
    terminal.type(UP);
    await seen(ids[1]!);
    await seen("(2 of 3 held actions)");
    await quit();
    expect(await pending()).toEqual(ids);
  });

  test("? explains each key; any other key does nothing", async () => {
    for (const key of ["x", ENTER, " ", "A", "\x1b[15~", "é"]) terminal.type(key);
    terminal.type("?");
    const does = [["a", "approve"], ["r", "reject"], ["e", "edit"], ["j", "show"], ["q", "quit"]];
    for (const [key, word] of does) await seen(`  ${key!.padEnd(7)}${word}`);
    terminal.type("x");
    await seen("Approve this action?");
    await quit();
    expect(await pending()).toEqual(ids);
  });

  test("e does what approve --edit does; a failing editor leaves the action held", async () => {
    terminal.env.EDITOR = "false";
    terminal.type("e");
    await seen("✗ Cannot use the edit");
    await seen("Approve this action?");
    terminal.env.EDITOR = "printf by-hand >";
    terminal.type("e");
    await seen("✓ approved, succeeded, edited: one.txt");
    await seen(ids[1]!);
    await seen("Approve this action?");
    await quit();
    expect(readFileSync(join(terminal.folder, "project", "one.txt"), "utf8")).toBe("by-hand");
  });

  test("keys that were typed before a card was shown decide nothing on it", async () => {
    terminal.type("aaa");
    await seen("✓ approved, succeeded: one.txt");
    await seen(ids[1]!);
    await seen("Approve this action?");
    await quit();
    expect(await pending()).toEqual(ids.slice(1));
  });

  test("a cancelled reason rejects nothing", async () => {
    terminal.type("r");
    await seen("Why?");
    terminal.type(CTRL_C);
    await seen("Approve this action?");
    terminal.type(CTRL_C);
    expect(await watching).toMatchObject({ code: 0 });
    expect(await pending()).toEqual(ids);
  });

  test("somebody else's decision shows the next card, and a new action is announced", async () => {
    const printed = terminal.printed;
    const other = await createTerminal({ GATE_HOME: join(terminal.folder, ".gate") });
    other.env.GATE_PORT = terminal.env.GATE_PORT;
    const shown = async (text: string) => {
      await until(`"${text}" is shown`, () => printed().includes(text, from));
      from = printed().indexOf(text, from) + text.length;
    };
    expect(await other.run(["reject", ids[0]!, "--reason", "no"])).toMatchObject({ code: 0 });
    await shown(ids[1]!);
    await shown("(1 of 2 held actions)");
    const body = JSON.stringify({ tool: "write_file", input: { path: "new.txt", content: "n" } });
    await other.run(["api", "POST", "/api/actions?project=web", "--scope", "agent", "-d", body]);
    await shown("+ held: new.txt");
    await shown("(1 of 3 held actions)");
    other.close();
    terminal.signal("SIGINT");
    expect(await watching).toMatchObject({ code: 0 });
  });
});

async function hold(path: string): Promise<string> {
  const body = JSON.stringify({ tool: "write_file", input: { path, content: path } });
  const { stdout } = await terminal.run(
    ["api", "POST", "/api/actions?project=web", "--scope", "agent", "-d", body],
  );
  return JSON.parse(stdout).id;
}

async function pending(): Promise<string[]> {
  const { stdout } = await terminal.run(["pending", "--json"]);
  return JSON.parse(stdout).map(({ id }: { id: string }) => id).sort();
}

test("output on a terminal is coloured unless NO_COLOR is set", async () => {
  const coloured = await createTerminal({ TERM: "xterm" });
  writeFileSync(
    join(coloured.folder, "project", "gate.config.json"),
    JSON.stringify({ id: "web", policies: { defaultEffect: "ask" } }),
  );
  const ask = (person: boolean) =>
    coloured.run(["policy", "test", "--no-sandbox", "--command", "make"], { person });
  expect((await ask(true)).stdout).toContain("\x1b[33mask\x1b[39m");
  expect((await ask(false)).stdout).toMatch(/^ask: /);
  coloured.env.NO_COLOR = "1";
  expect((await ask(true)).stdout).toMatch(/^ask: /);
  await coloured.run(["daemon", "stop"]);
  coloured.close();
});
