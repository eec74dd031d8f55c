import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openPty, type Pty } from "./pty.ts";
import { must, until, World } from "./world.ts";

const PASSPHRASE = `correct horse ${process.pid} battery`;
const CTRL_C = "\x03";
const WRITE = "Write gate.config.json?";
/** A new user's two minutes, of which most is reading and typing. */
const MOST_MS = 30_000;

// `script` makes the terminals; Windows has none.
describe.skipIf(process.platform === "win32")("a new user at a real terminal", () => {
  let world: World;
  beforeEach(async () => void (world = await World.create("executable", { proof: "none" })));
  afterEach(() => world.close());

  const open = (...args: string[]): Pty =>
    openPty(world.command(args), { cwd: world.project, env: { ...world.env, TERM: "xterm" } });

  async function hold(path: string): Promise<string> {
    const input = { tool: "write_file", input: { path, content: "hello\n" } };
    const { body } = await world.api("POST", "/api/actions", input, "agent");
    expect(body.status).toBe("pending");
    return body.id;
  }

  /** Answers every question of `gate init` with its default, up to the passphrase. */
  async function init(): Promise<Pty> {
    const terminal = open("init");
    for (const question of ["Id of the project", "Policy", "Inherit", "Which agents", WRITE]) {
      await terminal.see(question);
      terminal.type("\r");
    }
    await terminal.see("Set a passphrase for approvals now?");
    return terminal;
  }

  test("from nothing to the first approval with a passphrase", async () => {
    const started = performance.now();
    const terminal = await init();
    terminal.type("\r");
    await terminal.see("New passphrase");
    terminal.type(`${PASSPHRASE}\r`);
    await terminal.see("The same passphrase again");
    terminal.type(`${PASSPHRASE}\r`);
    await terminal.see("The passphrase is set");
    expect(await terminal.ended).toBe(0);

    const id = await hold("notes.md");
    const approving = open("approve", id.slice(0, 18));
    await approving.see("Passphrase to approve");
    approving.type(`${PASSPHRASE}\r`);
    await approving.see("approved, succeeded");
    expect(await approving.ended).toBe(0);
    expect(readFileSync(join(world.project, "notes.md"), "utf8")).toBe("hello\n");
    expect(performance.now() - started).toBeLessThan(MOST_MS);

    const shown = terminal.shown() + approving.shown();
    expect(shown).not.toContain("horse");
    must(await world.run(["audit", "verify"]));
    expect(filesWith(world.folder, PASSPHRASE)).toEqual([]);
  });

  test("the passphrase is in no command line while the question waits", async () => {
    must(await world.run(["proof", "set", "--passphrase-stdin"], { input: `${PASSPHRASE}\n` }));
    await world.init();
    const approving = open("approve", await hold("a.md"));
    await approving.see("Passphrase to approve");
    approving.type(PASSPHRASE);
    await until("the keys arrived", () => commandLines().length > 0);
    expect(commandLines().filter((line) => line.includes(PASSPHRASE))).toEqual([]);
    approving.type(CTRL_C);
    expect(await approving.ended).toBe(1);
    expect(approving.shown()).toContain("you gave no passphrase; nothing changed");
    expect(approving.shown()).not.toContain("horse");
  });

  test.each([["n", "Skipped."], [CTRL_C, "Skipped."]])(
    "declining with %j is no failure, and the next step is told",
    async (key, said) => {
      const terminal = await init();
      terminal.type(key);
      await terminal.see(said);
      await terminal.see("gate proof set");
      expect(await terminal.ended).toBe(0);
      expect(existsSync(join(world.project, "gate.config.json"))).toBe(true);
      must(await world.run(["daemon", "start"]));
      const refused = await world.run(["approve", await hold("a.md")]);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("gate proof set");
    },
  );

  test("Ctrl-C at the passphrase leaves the project set up", async () => {
    const terminal = await init();
    terminal.type("\r");
    await terminal.see("New passphrase");
    terminal.type(`corr${CTRL_C}`);
    await terminal.see("Skipped.");
    expect(await terminal.ended).toBe(0);
    expect(await world.json(["proof", "status", "--json"])).toMatchObject({ kind: "none" });
  });

  test("what is typed ahead between two questions is not shown, and answers the next one", async () => {
    const terminal = await init();
    // All of it at once: the daemon starts between the first answer and the first passphrase.
    terminal.type(`\r${PASSPHRASE}\r`);
    terminal.type(`${PASSPHRASE}\r`);
    await terminal.see("The passphrase is set");
    expect(await terminal.ended).toBe(0);
    const approving = open("approve", await hold("a.md"), await hold("b.md"));
    await approving.see("Passphrase to approve");
    // The key of the wrong one is derived while the right one comes.
    approving.type(`wrong ${PASSPHRASE}\r`);
    approving.type(`${PASSPHRASE}\r`);
    await approving.see("approved, succeeded: a.md");
    await approving.see("approved, succeeded: b.md");
    expect(await approving.ended).toBe(0);
    expect(terminal.shown() + approving.shown()).not.toContain("horse");
  });

  test("the terminal shows what is typed again afterwards, also after Ctrl-C", async () => {
    must(await world.run(["proof", "set", "--passphrase-stdin"], { input: `${PASSPHRASE}\n` }));
    await world.init();
    const gate = world.command(["approve", await hold("a.md")]).map((word) => `'${word}'`).join(
      " ",
    );
    for (const answer of [`wrong\r${CTRL_C}`, CTRL_C, `${PASSPHRASE}\r`]) {
      const shell = openPty(["sh", "-c", `trap : INT; ${gate}; echo; stty -a`], {
        cwd: world.project,
        env: { ...world.env, TERM: "xterm" },
      });
      await shell.see("Passphrase to approve");
      shell.type(answer);
      await shell.see("speed");
      expect(await shell.ended).toBe(0);
      expect(shell.shown(), JSON.stringify(answer)).toMatch(/ icanon .*[ \n]echo /s);
      expect(shell.shown()).toMatch(/[ \n]isig /);
    }
  });

  test("an editor gets the whole terminal, and the passphrase after it is not shown", async () => {
    must(await world.run(["proof", "set", "--passphrase-stdin"], { input: `${PASSPHRASE}\n` }));
    await world.init();
    const editor = join(world.folder, "editor.sh");
    writeFileSync(editor, 'printf "your text: "; read -r line; echo "$line" > "$1"\n');
    const id = await hold("a.md");
    const editing = openPty(world.command(["approve", id, "--edit"]), {
      cwd: world.project,
      env: { ...world.env, TERM: "xterm", EDITOR: `sh ${editor}` },
    });
    await editing.see("your text: ");
    editing.type("by hand\r");
    await editing.see("Passphrase to approve");
    editing.type(`${PASSPHRASE}\r`);
    await editing.see("approved, succeeded, edited");
    expect(await editing.ended).toBe(0);
    expect(editing.shown()).toContain("by hand");
    expect(editing.shown()).not.toContain("horse");
    expect(readFileSync(join(world.project, "a.md"), "utf8")).toBe("by hand\n");
  });

  test("without a terminal init and daemon start tell the next step", async () => {
    expect(must(await world.run(["init", "--yes"])).stderr).toContain("Next: gate proof set");
    expect(must(await world.run(["daemon", "start"])).stderr).toContain("Next: gate proof set");
    must(await world.run(["proof", "set", "--passphrase-stdin"], { input: `${PASSPHRASE}\n` }));
    expect(must(await world.run(["init", "--yes"])).stderr).not.toContain("gate proof set");
    expect(must(await world.run(["daemon", "restart"])).stderr).not.toContain("gate proof set");
  });
});

function filesWith(folder: string, text: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.map((name) => join(folder, name)).filter((file) =>
    existsSync(file) && statSync(file).isFile() && readFileSync(file).includes(text)
  );
}

/** The command lines and environments of this user's processes; empty where there is no /proc. */
function commandLines(): string[] {
  if (process.platform !== "linux") return ["not shown"];
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8");
    } catch {
      return ""; // the process has ended, or belongs to somebody else
    }
  };
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => [read(pid, "cmdline"), read(pid, "environ")]).filter(Boolean);
}
