import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i}`);

test("show prints the diff of a changed file, the time and the next commands", async () => {
  writeFileSync(join(gated.folder, "long.txt"), `${LINES.join("\n")}\n`);
  const held = await gated.write("long.txt", `${LINES.with(20, "changed").join("\n")}\n`);
  const shown = await gated.good("show", held.id);
  expect(shown.stdout).toContain("── changes ─");
  expect(shown.stdout).toContain("│ -line 20\n│ +changed\n");
  expect(shown.stdout).not.toContain("line 10");
  expect(shown.stdout).toMatch(/submitted +\d{4}-\S+ {2}\(\d+s ago\)/);
  expect(shown.stderr).toContain(`gate approve ${held.id}`);
  await gated.good("approve", held.id);
  const done = await gated.good("show", held.id);
  expect(done.stdout).toMatch(/decided +\d{4}-\S+ {2}\(\d+s ago\)/);
  expect(done.stderr).toBe("");
});

test("show prints a new text file completely, and a binary file by size and hash", async () => {
  const text = await gated.write("new.txt", "first\nsecond\n");
  expect((await gated.good("show", text.id)).stdout).toMatch(/── after ─+\n│ first\n│ second\n/);
  const bytes = { path: "a.bin", content: "AP8BAg==", encoding: "base64" };
  const held = await gated.submit("write_file", bytes);
  const { stdout } = await gated.good("show", held.id);
  expect(stdout).toMatch(/── before ─+\n│ no file\n/);
  expect(stdout).toContain(`4 bytes, not shown`);
  expect(stdout).toContain(`sha256 ${held.after_sha256}`);
});

test("show separates the reviewer's edit from the agent's input", async () => {
  const held = await gated.write("edited.txt", "asked\nkept\n");
  const edit = JSON.stringify({ content: "better\nkept\n" });
  await gated.json("api", "POST", `/api/actions/${held.id}/approve-with-edit`, "-d", edit);
  const { stdout } = await gated.good("show", held.id);
  expect(stdout).toContain("── the reviewer's changes ─");
  expect(stdout).toContain("│ -asked\n│ +better\n│  kept");
});

test("show says that an approved, unclaimed command waits for an agent", async () => {
  const held = await gated.submit("run_command", { command: "make all" });
  const { stdout } = await gated.good("show", held.id);
  expect(stdout.split("make all")).toHaveLength(3); // the command and the decision
  expect(stdout).not.toContain("would run");
  const approved = await gated.good("approve", held.id);
  expect(approved.stderr).toContain("the agent runs it when it asks for the result");
  expect((await gated.good("show", held.id)).stdout).toContain("approved, not run yet");
});

test("show names the commands of a line that holds several, quoted as a shell would", async () => {
  const held = await gated.submit("run_command", { command: 'make "a b" && make c' });
  const { stdout, stderr } = await gated.good("show", held.id);
  expect(stdout).toMatch(/── would run ─+\n│ make 'a b'\n│ make c\n/);
  expect(stderr).toContain(`gate approve ${held.id} --edit\n`);
});

test("show offers no edit where nothing can be edited", async () => {
  writeFileSync(join(gated.folder, "gone.txt"), "gone");
  const held = await gated.submit("delete_file", { path: "gone.txt" });
  expect((await gated.good("show", held.id)).stderr).not.toContain("--edit");
});

test("on a terminal a long fact goes on below its value, without cutting a word", async () => {
  const command = `make ${"target ".repeat(30)}${"x".repeat(100)}`;
  const held = await gated.submit("run_command", { command });
  const { stdout } = await gated.terminal.run(["show", held.id], { person: true, columns: 80 });
  const lines = stripVTControlCharacters(stdout).split("\n");
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  const from = lines.findIndex((line) => line.startsWith("command"));
  const rows = lines.slice(from + 1).filter((_, i, all) =>
    all.slice(0, i + 1).every((one) => one.startsWith(`${" ".repeat(12)}│ `))
  );
  expect([lines[from]!.slice(12), ...rows.map((row) => row.slice(14))].join("")).toBe(command);
  expect(rows[0]).toMatch(/^ {12}│ target/);
});

test("a beginning of several ids names their actions, and how many more there are", async () => {
  for (let i = 0; i < 7; i++) await gated.write(`many/${i}.txt`, "x");
  const held: { id: string }[] = await gated.json("pending", "--json");
  const shared = held[0]!.id.slice(0, 4);
  const { code, stderr } = await gated.terminal.run(["show", shared]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${held.length} ids of held actions begin with it:\n`);
  expect(stderr).toMatch(/\n│ {3}[\da-f-]{36} {2}write_file many\/6\.txt\n/);
  expect(stderr).toContain(`│   and ${held.length - 5} more\n`);
});

test("show says whether a command can be rolled back, and which parts cannot", async () => {
  writeFileSync(join(gated.folder, "gone.txt"), "gone");
  const whole = await gated.submit("run_command", { command: "rm gone.txt" });
  expect((await gated.good("show", whole.id)).stdout)
    .toMatch(/reversible +yes: gate keeps the current content of 1 file/);
  const part = await gated.submit("run_command", { command: "rm gone.txt; make" });
  expect((await gated.good("show", part.id)).stdout)
    .toMatch(/reversible +partly: The other effects of "make" are unknown/);
});

test("a command that no agent has run yet is not rolled back, and the reason is plain", async () => {
  const { id } = await gated.submit("run_command", { command: "make later" });
  await gated.good("approve", id);
  const { code, stderr } = await gated.terminal.run(["rollback", id]);
  expect(code).toBe(1);
  expect(stderr).toContain(`Cannot roll back action "${id}": it was not executed\n  try: `);
});

describe("the programs of a held command", () => {
  const script = (path: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "#!/bin/sh\necho said\n", { mode: 0o755 });
    return path;
  };
  const shownOf = async (command: string) => {
    const { id } = await gated.submit("run_command", { command });
    const { stdout } = await gated.good("show", id);
    const { programs, signed } = await gated.json("show", id, "--json");
    expect(programs).toEqual(signed.programs ?? null);
    return { id, stdout, programs };
  };

  test("are their absolute paths; a program of the machine carries no warning", async () => {
    const { stdout, programs } = await shownOf("uname -a | sort");
    expect(stdout).toMatch(/\nprograms {4}\/\S*\/sort[^]*\n {12}\/\S*\/uname/);
    expect(stdout).not.toContain("an agent can change this program");
    expect(stdout).toMatch(/not fixed {3}every file that these programs or the scripts load/);
    for (const { path, changeable } of programs) {
      expect(existsSync(path)).toBe(true);
      expect(changeable).toBeUndefined();
    }
  });

  test("are shown after the decision too", async () => {
    const { id } = await shownOf("uname -a | sort -u");
    await gated.good("approve", id);
    expect((await gated.good("show", id)).stdout).toMatch(/\nprograms {4}\/\S*\/sort/);
  });

  test.each([
    ["in the project", () => "./bin/say x", "it lies in the folder of a project"],
    ["behind a link in the project", () => {
      symlinkSync("/usr/bin/uname", join(gated.folder, "bin", "linked"));
      return "./bin/linked";
    }, "it lies in the folder of a project"],
    ["linked into the project", () => {
      const link = join(gated.terminal.folder, "outside", "say");
      mkdirSync(dirname(link));
      symlinkSync(join(gated.folder, "bin", "say"), link);
      return `${link} y`;
    }, "it lies in the folder of a project"],
    [
      "in the temporary folder",
      () => script(join(gated.terminal.folder, "tools", "tool")),
      "it lies in a temporary folder",
    ],
  ])("%s are marked as changeable", async (_, commandOf, why) => {
    script(join(gated.folder, "bin", "say"));
    const { stdout } = await shownOf(commandOf());
    expect(stdout).toContain(`\n              an agent can change this program: ${why}\n`);
  });

  test("are listed with the changeable ones first, before the list is cut", async () => {
    const names = Array.from({ length: 25 }, (_, i) => script(join(gated.folder, `many/p${i}`)));
    const { stdout } = await shownOf(`uname; ${names.join("; ")}`);
    expect(stdout.match(/an agent can change this program/g)).toHaveLength(20);
    expect(stdout).toContain("and 6 more; gate show --json names them");
    expect(stdout).not.toMatch(/\/uname\n/);
  });

  test("behind a link show where it leads", async () => {
    mkdirSync(join(gated.folder, "bin"), { recursive: true });
    symlinkSync("/usr/bin/env", join(gated.folder, "bin", "other"));
    const { stdout } = await shownOf("./bin/other");
    expect(stdout).toMatch(/\/bin\/other\n {14}leads to \/usr\/bin\/env\n/);
  });

  test("are none when a shell runs the command", async () => {
    const { stdout, programs } = await shownOf("echo $(uname)");
    expect(programs).toBeNull();
    expect(stdout).not.toMatch(/\nprograms /);
  });
});

describe("show says that remembering trusts code that agents can change", () => {
  const TRUST = /remember {4}it runs code that an agent can change, such as tests/;

  test.each([
    ["npm test", true],
    ["cd src && npx vitest run", true],
    ["env CI=1 make all", true],
    ["sh ./build.sh", true],
    ["./build.sh", true],
    ["echo $(cat a) && pytest", true],
    ["cp -r src dist", false],
    ["curl https://example.org", false],
    ["grep -r npm docs", false],
  ])("%s: %s", async (command, runs) => {
    writeFileSync(join(gated.folder, "build.sh"), "#!/bin/sh\ntrue\n", { mode: 0o755 });
    mkdirSync(join(gated.folder, "src"), { recursive: true });
    const { id } = await gated.submit("run_command", { command });
    const { stdout } = await gated.good("show", id);
    expect(TRUST.test(stdout)).toBe(runs);
  });

  test("only while it is held", async () => {
    const { id } = await gated.submit("run_command", { command: "npm run lint" });
    await gated.good("reject", id, "--reason", "no");
    expect((await gated.good("show", id)).stdout).not.toMatch(TRUST);
  });
});

test("show reports another session's change of the file, and a changed base", async () => {
  const lines = "one\ntwo\nthree\nfour\nfive\n";
  writeFileSync(join(gated.folder, "both.txt"), lines);
  const held = await gated.write("both.txt", lines.replace("one", "ONE"));
  const { stderr } = await gated.terminal.run(["approve", held.id, "--rebase"]);
  expect(stderr).toContain("its file has not changed or cannot be read");
  writeFileSync(join(gated.folder, "both.txt"), lines.replace("five", "FIVE"));
  const shown = await gated.good("show", held.id);
  expect(shown.stdout).toMatch(/── the file has changed since then ─[^]*-five\n│ \+FIVE/);
  expect(shown.stdout).toMatch(/── an approval with --rebase writes ─[^]*-one\n│ \+ONE/);
  expect((await gated.terminal.run(["approve", held.id])).stderr).toContain(
    "gate approve --rebase",
  );
  await gated.good("approve", held.id, "--rebase");
  expect(readFileSync(join(gated.folder, "both.txt"), "utf8"))
    .toBe(lines.replace("one", "ONE").replace("five", "FIVE"));
});

test("show suggests only reject if nothing else is possible", async () => {
  const path = join(gated.folder, "only.txt");
  writeFileSync(path, "one\n");
  const write = await gated.write("only.txt", "ONE\n");
  const edits = [{ old_text: "one", new_text: "1" }];
  const edited = await gated.submit("edit_file", { path: "only.txt", edits });
  const removed = await gated.submit("delete_file", { path: "only.txt" });
  writeFileSync(path, "zero\none\n");
  const ways = async ({ id }: { id: string }) =>
    (await gated.good("show", id)).stderr.replaceAll(id, "ID").trim().split("\n  ");
  const reject = "gate reject ID --reason '…'";
  const edit = "gate approve ID --edit --rebase";
  expect(await ways(edited)).toEqual(["gate approve ID --rebase", edit, reject]);
  expect(await ways(removed)).toEqual(["gate approve ID --rebase", reject]);
  rmSync(path);
  expect(await ways(removed)).toEqual([reject]);
  expect((await gated.good("show", removed.id)).stdout)
    .toMatch(
      /── it cannot be approved ─*\n│ Cannot execute the action: "only.txt" no longer exists/,
    );
  writeFileSync(path, "eins\n");
  expect(await ways(write)).toEqual(["gate dashboard", reject]);
  for (const { id } of [write, edited, removed]) await gated.good("reject", id, "--reason", "no");
});

test("show prints the files of a host tool, or its input if the result is unknown", async () => {
  writeFileSync(join(gated.folder, "host.txt"), "one\ntwo\ntwo\n");
  const patch = ["*** Begin Patch", "*** Add File: new/host.txt", "+first"];
  const more = ["*** Update File: host.txt", "@@", "-one", "+ONE", "*** End Patch"];
  const both = await use("codex", "apply_patch", { command: [...patch, ...more].join("\n") });
  const { stdout } = await gated.good("show", both);
  expect(stdout).toMatch(/── after: new\/host\.txt ─+\n│ first\n/);
  expect(stdout).toMatch(/── changes: host\.txt ─+\n[^]*-one\n│ \+ONE\n/);
  expect(stdout).not.toContain("── input");
  const edit = { file_path: "host.txt", old_string: "two", new_string: "TWO" };
  const unknown = await gated.good("show", await use("claude-code", "Edit", edit));
  expect(unknown.stdout).toMatch(/── input ─+\n│ \{[^]*"old_string": "two"/);
  expect(unknown.stdout).not.toContain("── changes");
});

test("show says who runs a command of a host that has not reported", async () => {
  const listed = await gated.good("show", await use("claude-code", "Bash", { command: "ls" }));
  expect(listed.stdout).toMatch(
    /^status +allowed, running: its host runs it and reports the end; without a report gate gives it/m,
  );
});

async function use(host: string, tool_name: string, tool_input: unknown): Promise<string> {
  const at = { session_id: "s", cwd: gated.folder, hook_event_name: "PreToolUse" };
  const hook = JSON.stringify({ ...at, tool_name, tool_input });
  await gated.good("api", "POST", `/api/hooks/${host}?wait_ms=0`, "-d", hook);
  const [held] = await gated.json("log", "--tool", tool_name, "--json");
  return held.id;
}

test("a line of a command cannot imitate a field of show", async () => {
  const held = await gated.submit("run_command", {
    command: "make all\nrisk        low 0\n── would run ──\nls",
  });
  const { stdout } = await gated.good("show", held.id);
  const facts = stdout.split("\n\n")[0]!;
  expect(facts.match(/^risk /gm)).toHaveLength(1);
  expect(facts).toContain("\n            │ risk        low 0\n            │ ── would run ──\n");
});

test("show prints the target of a move, the deadline and the risk factors", async () => {
  writeFileSync(join(gated.folder, "from.txt"), "x\n");
  const held = await gated.submit("move_file", { from: "from.txt", to: "deep/to.txt" });
  const { stdout } = await gated.good("show", held.id);
  expect(stdout).toMatch(/^path +from\.txt\nto +deep\/to\.txt$/m);
  expect(stdout).toMatch(
    /^expires +\d{4}-\S+ {2}\(in 2[34]h\)$|^expires +\d{4}-\S+ {2}\(in 1d\)$/m,
  );
  expect(stdout).toMatch(/^ +\+5 +moves "from\.txt"$/m);
});
