import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
beforeEach(() => {
  delete gated.terminal.env.VISUAL;
  delete gated.terminal.env.EDITOR;
});
afterAll(() => gated.close());

/** Runs `gate approve --edit` with this editor command, which receives the file as last argument. */
function edit(id: string, editor: string, ...more: string[]) {
  gated.terminal.env.EDITOR = editor;
  return gated.terminal.run(["approve", id, "--edit", ...more]);
}

test("approve --edit writes the text from the editor", async () => {
  const { id } = await gated.write("notes.md", "one\ntwo\n");
  const ended = await edit(id, "sed -i.bak 's/two/TWO/'", "--reason", "louder");
  expect(ended).toMatchObject({ code: 0, stdout: "✓ approved, succeeded, edited: notes.md\n" });
  expect(gated.onDisk("notes.md")).toBe("one\nTWO\n");
  expect(await gated.json("show", id, "--json")).toMatchObject({
    edited: true,
    reason: "louder",
    proposed: { content: "one\ntwo\n" },
  });
});

test("approve --edit runs the edited command, and refuses one with more effects", async () => {
  const { id } = await gated.submit("run_command", { command: "make all" });
  const more = await edit(id, "sed -i.bak 's/$/ \\&\\& rm -rf ~/'");
  expect(more).toMatchObject({ code: 1, stdout: "" });
  expect(more.stderr).toContain("does more than the agent's command");
  const ended = await edit(id, "sed -i.bak 's/all/test/'", "--json");
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(ended.stdout)).toMatchObject({ command: "make test", edited: true });
});

test.each([["true"], ["sh -c 'echo >> \"$1\"' sh"]])(
  "a text that `%s` does not change is approved without an edit",
  async (editor) => {
    const { id } = await gated.write("same.txt", `no end ${editor}`);
    expect((await edit(id, editor)).stdout).toBe("✓ approved, succeeded: same.txt\n");
    expect(gated.onDisk("same.txt")).toBe(`no end ${editor}`);
    expect((await gated.json("show", id, "--json")).edited).toBe(false);
  },
);

test.each([
  ["strips the last newline", "perl -pi -e 'chomp if eof'", "make a"],
  ["adds a newline", "sh -c 'echo >> \"$1\"' sh", "make b"],
  ["strips the newline of a command that ends in one", "perl -pi -e 'chomp if eof'", "make c\n"],
])("an editor that %s does not edit the command", async (_title, editor, command) => {
  const { id } = await gated.submit("run_command", { command });
  expect(await edit(id, editor, "--json")).toMatchObject({ code: 0 });
  expect(await gated.json("show", id, "--json")).toMatchObject({ edited: false, command });
});

/** The kept file and the next command in a refusal. */
function keptIn({ stderr }: { stderr: string }): { file: string; next: string } {
  const [, file, next] = /\n│ {3}your text is kept in (.*)\n {2}try: (.*)\n$/.exec(stderr) ??
    [];
  expect(next, stderr).toBeDefined();
  return { file: file!, next: next! };
}

test("a refused text is kept, and --draft continues with it", async () => {
  const { id } = await gated.submit("run_command", { command: "make all" });
  const refused = await edit(id, "sed -i.bak 's/$/ \\&\\& rm -rf ~/'", "--reason", "it's fine");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  const { file, next } = keptIn(refused);
  expect(next).toBe(`gate approve ${id} --edit --draft ${file} --reason 'it'\\''s fine'`);
  expect(readFileSync(file, "utf8")).toBe("make all && rm -rf ~\n");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(keptIn(await edit(id, "true", "--draft", file)).file).toBe(file);
  expect(await edit(id, "sed -i.bak 's/all && .*/test/'", "--draft", file, "--json"))
    .toMatchObject({ code: 0 });
  expect(await gated.json("show", id, "--json")).toMatchObject({ command: "make test" });
  expect(existsSync(file)).toBe(true);
});

test("if the file changes during the edit, the text is kept and --rebase suggested", async () => {
  const file = join(gated.folder, "race.txt");
  writeFileSync(file, "one\ntwo\n");
  const changed = await gated.write("race.txt", "ONE\ntwo\n");
  const moved = await edit(
    changed.id,
    `sh -c 'echo mine >> "$1"; echo three >> "$2"' sh "$1" "${file}" #`,
  );
  expect(moved).toMatchObject({ code: 1, stdout: "" });
  expect(keptIn(moved).next).toBe(`gate approve ${changed.id} --edit --rebase`);
  expect(readFileSync(keptIn(moved).file, "utf8")).toBe("ONE\ntwo\nmine\n");
  const twice = await edit(changed.id, "true", "--rebase", "--draft", keptIn(moved).file);
  expect(twice).toMatchObject({ code: 64, stdout: "" });
});

test("if the editor fails, changed text is kept and unchanged text is not", async () => {
  const { id } = await gated.write("failing.txt", "x\n");
  const typed = await edit(id, "sh -c 'echo much > \"$1\"; exit 3' sh");
  expect(typed.stderr).toMatch(/ended with code 3/);
  expect(readFileSync(keptIn(typed).file, "utf8")).toBe("much\n");
  expect((await edit(id, "false")).stderr).not.toContain("kept");
  const missing = await edit(id, "true", "--draft", "nowhere.txt");
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toMatch(/nowhere\.txt": it does not exist/);
  await gated.good("reject", id, "--reason", "no");
  const alone = await gated.terminal.run(["approve", id, "--draft", "x"]);
  expect(alone).toMatchObject({ code: 64 });
});

test.each([
  [": >", /the edited text is empty; the action is still held\n {2}try: gate reject/],
  ["false", /the editor "false" ended with code 1/],
  ["/nowhere/vi", /ended with code 127; nothing changed\n {2}try: export EDITOR=vi, then/],
  ["kill -9 $$ #", /was ended by SIGKILL/],
  ["printf '\\377' >", /saved text that is not UTF-8/],
])("with the editor `%s` the action stays pending", async (editor, said) => {
  const { id } = await gated.write("undecided.txt", "x\n");
  const ended = await edit(id, editor);
  expect(ended).toMatchObject({ code: 1, stdout: "" });
  expect(ended.stderr).toMatch(said);
  expect((await gated.json("show", id, "--json")).status).toBe("pending");
  expect(gated.onDisk("undecided.txt")).toBeNull();
  await gated.good("reject", id, "--reason", "no");
});

test("VISUAL overrides EDITOR, and the error names both if neither is set", async () => {
  const { id } = await gated.write("visual.txt", "x\n");
  const none = await gated.terminal.run(["approve", id, "--edit"], { person: true });
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toContain("neither VISUAL nor EDITOR names an editor");
  gated.terminal.env.VISUAL = "sed -i.bak s/x/visual/";
  expect(await edit(id, "false")).toMatchObject({ code: 0 });
  expect(gated.onDisk("visual.txt")).toBe("visual\n");
});

test("the temporary file has the extension of the path, and not its name", async () => {
  const { id } = await gated.write("named $(id).ts", "x\n");
  await edit(id, 'sh -c \'basename "$1" > "$1"\' sh');
  expect(gated.onDisk("named $(id).ts")).toBe("proposed.ts\n");
});

test("--rebase applies the edit to the changed file", async () => {
  const file = join(gated.folder, "base.txt");
  writeFileSync(file, "one\ntwo\nthree\nfour\nfive\n");
  const { id } = await gated.write("base.txt", "ONE\ntwo\nthree\nfour\nfive\n");
  writeFileSync(file, "one\ntwo\nthree\nfour\nfünf\n");
  const refused = await edit(id, "sed -i.bak s/two/2/");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`gate approve ${id} --edit --rebase`);
  expect(await edit(id, "sed -i.bak s/two/2/", "--rebase")).toMatchObject({ code: 0 });
  expect(gated.onDisk("base.txt")).toBe("ONE\n2\nthree\nfour\nfünf\n");
});

test("--rebase fails if the held change conflicts with the file, and suggests the dashboard", async () => {
  const file = join(gated.folder, "unfit.txt");
  writeFileSync(file, "one\ntwo\n");
  const { id } = await gated.write("unfit.txt", "ONE\ntwo\n");
  writeFileSync(file, "eins\ntwo\n");
  for (const editor of ["true", "sed -i.bak s/two/2/"]) {
    const ended = await edit(id, editor, "--rebase");
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(
      /its change conflicts with the current content of the file.*\n {2}try: gate dashboard/,
    );
  }
  expect(gated.onDisk("unfit.txt")).toBe("eins\ntwo\n");
});

test("an action without editable text is refused before an editor opens", async () => {
  const read = await gated.submit("delete_file", { path: "gate.config.json" });
  const bytes = { path: "a.bin", content: "AP8BAg==", encoding: "base64" };
  const binary = await gated.submit("write_file", bytes);
  const foreign = await gated.submit("WebFetch", { url: "https://example.org" });
  for (const { id, status } of [read, binary, foreign]) {
    expect(status).toBe("pending");
    const ended = await edit(id, "echo opened; true");
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/Cannot edit action ".*\n {2}try: gate reject/);
    await gated.good("reject", id, "--reason", "no");
  }
  const decided = await edit(binary.id, "true");
  expect(decided.stderr).toContain("it is rejected");
});

test("--edit with --remember is wrong usage", async () => {
  const { id } = await gated.write("both.txt", "x\n");
  const ended = await edit(id, "true", "--remember");
  expect(ended).toMatchObject({ code: 64, stdout: "" });
  expect(ended.stderr).toContain("Cannot use --edit with --remember");
});
