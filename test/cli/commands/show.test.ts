import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

vi.setConfig({ testTimeout: 60_000 });

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
  expect((await gated.good("show", held.id)).stdout).toMatch(/── would run ─+\n│ make all/);
  const approved = await gated.good("approve", held.id);
  expect(approved.stderr).toContain("the agent runs it when it asks for the result");
  expect((await gated.good("show", held.id)).stdout).toContain("approved, not run yet");
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
  const edit = { path: "only.txt", edits: [{ old_text: "one", new_text: "1" }] };
  const edited = await gated.submit("edit_file", edit);
  const removed = await gated.submit("delete_file", { path: "only.txt" });
  writeFileSync(path, "zero\none\n");
  const ways = async ({ id }: { id: string }) =>
    (await gated.good("show", id)).stderr.replaceAll(id, "ID").trim().split("\n  ");
  const reject = "gate reject ID --reason '…'";
  expect(await ways(edited)).toEqual(["gate approve ID --rebase", reject]);
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
  expect(stdout).toMatch(/^ +\+25 +deletes "from\.txt"$/m);
});
