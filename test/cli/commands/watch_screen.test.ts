import xterm from "@xterm/headless";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from "vitest";
import { decideByToken, until } from "../../e2e/world.ts";
import { createTerminal, type Ended, type TestTerminal } from "../terminal.ts";

const ENTER = "\r";
const PAGE_DOWN = "\x1b[6~";

let terminal: TestTerminal;
let watching: Promise<Ended>;
let project: string;
beforeAll(async () => {
  terminal = await createTerminal({ TERM: "xterm-256color", NO_COLOR: "1" });
  decideByToken(join(terminal.folder, ".gate"));
  project = join(terminal.folder, "project");
  const config = { id: "web", policies: { defaultEffect: "ask" } };
  writeFileSync(join(project, "gate.config.json"), JSON.stringify(config));
  expect(await terminal.run(["init", "--yes"])).toMatchObject({ code: 0 });
});
// The next test finds nothing held and no file of this one.
afterEach(async () => {
  await terminal.run(["reject", "--all", "--reason", "the test is over"]);
  for (const name of readdirSync(project)) {
    if (name.endsWith(".txt")) rmSync(join(project, name));
  }
});
afterAll(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

let size = { columns: 80, rows: 24 };
function watch(columns = 80, rows = 24): void {
  size = { columns, rows };
  watching = terminal.run(["watch"], { person: true, ...size });
}

async function hold(path: string, content = path): Promise<string> {
  return await submit({ tool: "write_file", input: { path, content } });
}

async function submit(action: { tool: string; input: object }): Promise<string> {
  const body = JSON.stringify(action);
  const post = ["api", "POST", "/api/actions?project=web", "--scope", "agent", "-d", body];
  return JSON.parse((await terminal.run(post)).stdout).id;
}

/** The rows of the terminal, as a real emulator shows what was written so far. */
async function rows(): Promise<string[]> {
  const emulator = new xterm.Terminal({ ...size, cols: size.columns, allowProposedApi: true });
  const text = terminal.printed();
  await new Promise<void>((done) => emulator.write(text.replace(/(?<!\r)\n/g, "\r\n"), done));
  const { active } = emulator.buffer;
  return Array.from(
    { length: size.rows },
    (_, i) => active.getLine(active.viewportY + i)?.translateToString(true) ?? "",
  );
}

/** Waits until a row holds the text, and gives all rows. */
async function shown(text: string): Promise<string[]> {
  let seen: string[] = [];
  await until(`"${text}" is shown`, async () => {
    seen = await rows();
    return seen.some((row) => row.includes(text));
  });
  return seen;
}

async function quit(): Promise<string> {
  terminal.type("q");
  expect(await watching).toMatchObject({ code: 0 });
  return (await rows()).join("\n");
}

const long = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join("\n");

test.each(["SIGHUP", "SIGTERM"] as const)("%s ends it while a question is open", async (signal) => {
  await hold("one.txt");
  watch();
  await shown("Approve this action?");
  terminal.type("r");
  await shown("Why? The agent sees the reason.");
  terminal.signal(signal);
  expect(await watching).toMatchObject({ code: 0 });
});

test("the queue, the card and the keys fill the terminal; what was decided is printed at the end", async () => {
  await hold("one.txt");
  await hold("two.txt");
  watch();
  const first = await shown("Approve this action? (1 of 2 held actions)");
  expect(first[0]).toBe("gate watch: 2 held actions");
  expect(first[1]).toMatch(/^> .*one\.txt$/);
  expect(first[2]).toMatch(/^ {2}\S.*two\.txt$/);
  expect(first.at(-1)).toBe(
    "a approve  r reject  e edit  j next  k previous  ? help  q quit",
  );
  expect(first.every((row) => row.length <= 80)).toBe(true);
  terminal.type("a");
  const second = await shown("gate watch: 1 held action");
  expect(second).toContain("✓ approved, succeeded: one.txt");
  expect(second[1]).toMatch(/^> .*two\.txt$/);
  terminal.type("r");
  await shown("Why? The agent sees the reason.");
  expect((await rows())[1]).toMatch(/two\.txt/);
  for (const key of `no${ENTER}`) terminal.type(key);
  await shown("gate watch: no action is held");
  const left = await quit();
  expect(left).toContain("✓ approved, succeeded: one.txt\n✓ rejected: two.txt");
  expect(left).not.toContain("gate watch:");
});

describe("a long card", () => {
  beforeEach(async () => {
    await hold("long.txt", long);
    watch();
  });

  test.each([[" "], [PAGE_DOWN]])("%j shows its next part, b the one before", async (key) => {
    const first = await shown("space shows more");
    const last = Number(/lines 1 to (\d+) of/.exec(first.join("\n"))![1]);
    terminal.type(key);
    const second = await shown(`lines ${last} to `);
    expect(second.join("\n")).toContain("space shows more, b goes back");
    terminal.type("b");
    expect(await shown("lines 1 to ")).toEqual(first);
    await quit();
  });

  test("its end is reached, and no key goes behind it", async () => {
    await shown("space shows more");
    for (let i = 0; i < 20; i++) terminal.type(" ");
    const all = await shown(": b goes back");
    expect(all.join("\n")).toMatch(/line 100/);
    await quit();
  });

  test("another size draws everything anew", async () => {
    await shown("space shows more");
    size = { columns: 100, rows: 30 };
    terminal.resize(100, 30);
    const all = await shown("─".repeat(100));
    expect(all[0]).toBe("gate watch: 1 held action");
    expect(all.at(-1)).toMatch(/^a approve/);
    await quit();
  });
});

describe("what a person may not know is asked before an approval", () => {
  test("a card whose end was not on the screen", async () => {
    await hold("long.txt", long);
    watch();
    await shown("space shows more");
    terminal.type("a");
    const asked = await shown("You have not seen everything");
    expect(asked.at(-1)).toBe("space read on  y approve anyway  any other key back");
    terminal.type("x");
    await shown("Approve this action?");
    // "y" answers no question now; the action is still held.
    terminal.type("y");
    terminal.type("a");
    await shown("You have not seen everything");
    terminal.type("y");
    await shown("✓ approved, succeeded: long.txt");
    await quit();
  });

  test("not once its content was, whatever facts follow", async () => {
    await hold("long.txt", long);
    watch();
    await shown("space shows more");
    for (let i = 0; i < 8; i++) terminal.type(" ");
    await shown("line 100");
    terminal.type("?");
    await shown("Any key closes this list.");
    terminal.type("?");
    await shown("line 100");
    terminal.type("a");
    await shown("✓ approved, succeeded: long.txt");
    await quit();
  });

  test("hidden characters", async () => {
    await hold("one.txt", "a\u200bb\u202e");
    watch();
    await shown("Approve this action?");
    terminal.type("a");
    const asked = await shown("It has 2 hidden characters; each one is marked.");
    expect(asked.at(-1)).toBe("y approve anyway  any other key back");
    terminal.type("y");
    await shown("✓ approved, succeeded: one.txt");
    await quit();
  });

  test("a file that changed meanwhile; then the approval changes the file of now", async () => {
    const file = join(project, "f.txt");
    writeFileSync(file, "one\ntwo\n");
    await submit({
      tool: "edit_file",
      input: { path: "f.txt", edits: [{ old_text: "two", new_text: "2" }] },
    });
    writeFileSync(file, "zero\none\ntwo\n");
    watch(80, 50);
    await shown("Approve this action?");
    terminal.type("a");
    await shown("Its file has changed; an approval changes the file of now.");
    terminal.type("y");
    await shown("✓ approved, succeeded: f.txt");
    await quit();
    expect(readFileSync(file, "utf8")).toBe("zero\none\n2\n");
  });
});

test("a key that would certainly be refused is not offered", async () => {
  writeFileSync(join(project, "gone.txt"), "gone");
  await submit({ tool: "delete_file", input: { path: "gone.txt" } });
  watch();
  const all = await shown("Approve this action?");
  expect(all.at(-1)).toBe("a approve  r reject  j next  k previous  ? help  q quit");
  await quit();
});

test("the card begins with what the action does; its id and its times come last", async () => {
  await hold("one.txt");
  watch();
  const all = await shown("Approve this action?");
  const at = (text: string) => all.findIndex((row) => row.startsWith(text));
  expect(at("tool ")).toBe(at("──") + 1);
  expect(at("── after")).toBeLessThan(at("id "));
  await quit();
});

test("the list of keys covers the card, and the key that closes it decides nothing", async () => {
  const id = await hold("one.txt");
  watch();
  await shown("Approve this action?");
  terminal.type("?");
  const help = await shown("Any key closes this list.");
  expect(help.join("\n")).toMatch(/space {2}show the next part of a long card/);
  terminal.type("a");
  await shown("Approve this action?");
  await quit();
  const { stdout } = await terminal.run(["pending", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject([{ id }]);
});

test("a new action is announced below the card, until the next key", async () => {
  await hold("one.txt");
  watch();
  await shown("Approve this action?");
  const other = await createTerminal({ GATE_HOME: join(terminal.folder, ".gate") });
  other.env.GATE_PORT = terminal.env.GATE_PORT;
  const body = JSON.stringify({ tool: "write_file", input: { path: "new.txt", content: "n" } });
  await other.run(["api", "POST", "/api/actions?project=web", "--scope", "agent", "-d", body]);
  other.close();
  const told = await shown("+ held: new.txt");
  expect(told[0]).toBe("gate watch: 2 held actions");
  terminal.type("j");
  const next = await shown("(2 of 2 held actions)");
  expect(next.join("\n")).not.toContain("+ held:");
  await quit();
});

describe("a card that has just appeared", () => {
  const NEW = "This card has only just appeared.";
  let ids: string[];
  beforeEach(async () => {
    ids = [await hold("one.txt"), await hold("two.txt")];
    terminal.holdClock();
    watch();
    await shown("(1 of 2 held actions)");
  });
  afterEach(() => terminal.letClockRun());

  /** Runs a command while `gate watch` runs. */
  async function elsewhere(...args: string[]): Promise<void> {
    const other = await createTerminal({ GATE_HOME: join(terminal.folder, ".gate") });
    other.env.GATE_PORT = terminal.env.GATE_PORT;
    expect(await other.run(args)).toMatchObject({ code: 0 });
    other.close();
  }
  const held = async () => JSON.parse((await terminal.run(["pending", "--json"])).stdout);

  test.each(["a", "r", "e"])("accepts no %s at first; later it does", async (key) => {
    terminal.type(key);
    await shown(NEW);
    terminal.pass(699);
    terminal.type("?");
    await shown("Any key closes this list.");
    terminal.type("?");
    await shown("Approve this action?");
    terminal.type(key);
    await shown(NEW);
    terminal.pass(1);
    terminal.type("a");
    await shown("gate watch: 1 held action");
    await quit();
    expect(await held()).toMatchObject([{ id: ids[1] }]);
  });

  test("a key that was meant for an action that another person decides does nothing", async () => {
    terminal.pass(1000);
    await elsewhere("reject", ids[0]!, "--reason", "no");
    await shown("gate watch: 1 held action");
    terminal.type("a");
    await shown(NEW);
    await quit();
    expect(await held()).toMatchObject([{ id: ids[1] }]);
  });

  test("so is one that appears in an empty queue", async () => {
    terminal.pass(1000);
    await elsewhere("reject", ...ids, "--reason", "no");
    await shown("No action is held now.");
    const json = JSON.stringify({ tool: "write_file", input: { path: "n.txt", content: "n" } });
    await elsewhere("api", "POST", "/api/actions?project=web", "--scope", "agent", "-d", json);
    await shown("Approve this action?");
    terminal.type("a");
    await shown(NEW);
    terminal.pass(700);
    terminal.type("a");
    await shown("✓ approved, succeeded: n.txt");
    await quit();
  });
});

test("a hostile command cannot leave its row or move the cursor", async () => {
  const command = "echo '\x1b[2J\x1b[1;1Hgate watch: no action is held'";
  await submit({ tool: "run_command", input: { command } });
  watch();
  const all = await shown("Approve this action?");
  expect(all[0]).toBe("gate watch: 1 held action");
  expect(all[1]).toContain("[2J");
  await quit();
});

test.each([
  ["a dumb terminal", "dumb", 80, 24],
  ["a small one", "xterm", 50, 10],
])("%s prints one card below the other", async (_, term, columns, height) => {
  const { TERM } = terminal.env;
  onTestFinished(() => void (terminal.env.TERM = TERM));
  terminal.env.TERM = term;
  await hold("one.txt");
  watch(columns, height);
  await until("it asks", () => terminal.printed().includes("Approve this action?"));
  expect(terminal.printed()).not.toContain("\x1b[?1049h");
  terminal.type("a");
  await until(
    "it is approved",
    () => terminal.printed().includes("✓ approved, succeeded: one.txt"),
  );
  await until("it waits", () => terminal.printed().includes("No action is held now."));
  await quit();
});
