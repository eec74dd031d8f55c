import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { snapshot } from "../hosts/stage.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

let terminal: TestTerminal;
let root: string;
beforeEach(async () => {
  terminal = await createTerminal();
  root = join(terminal.folder, "project");
  config({ id: "web" });
});
afterEach(() => terminal.close());

const config = (value: object) => write("gate.config.json", JSON.stringify(value));
const write = (name: string, text: string) => writeFileSync(join(root, name), text);
const read = (name: string) => readFileSync(join(root, name), "utf8");
const update = (...args: string[]) => terminal.run(["update-instructions", ...args]);
const files = async (...args: string[]) => {
  const { stdout } = await update("--json", ...args);
  return Object.fromEntries(
    JSON.parse(stdout).files.map((
      one: { file: string; outcome: string },
    ) => [one.file, one.outcome]),
  );
};

test("a project without instructions gets AGENTS.md, and a second run changes nothing", async () => {
  expect(await files()).toEqual({ "AGENTS.md": "created" });
  expect(read("AGENTS.md")).toContain("(`web`) is behind gate");
  expect(read("AGENTS.md")).toContain("`await_action`");
  const before = snapshot(terminal.folder);
  expect(await files()).toEqual({ "AGENTS.md": "unchanged" });
  expect(snapshot(terminal.folder)).toEqual(before);
});

test("--check exits with 1 and a diff if the file is missing or outdated, and writes nothing", async () => {
  const before = snapshot(terminal.folder);
  expect(await update("--check")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("+## Working behind the gate"),
    stderr: "Outdated. Update: gate update-instructions\n",
  });
  expect(snapshot(terminal.folder)).toEqual(before);
  await update();
  expect(await update("--check")).toMatchObject({ code: 0, stderr: "" });
  write("AGENTS.md", read("AGENTS.md").replace("Use no other", "Use any other"));
  const outdated = await update("--check");
  expect(outdated).toMatchObject({ code: 1 });
  expect(outdated.stdout).toMatch(/^-.*Use any other/m);
  expect(outdated.stdout).toMatch(/^\+.*Use no other/m);
  expect(read("AGENTS.md")).toContain("Use any other");
  await update();
  config({ id: "renamed" });
  expect(await update("--check")).toMatchObject({ code: 1 });
});

test("--dry-run shows the diff, exits with 0 and writes nothing", async () => {
  const before = snapshot(terminal.folder);
  expect(await update("--dry-run")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("+## Working behind the gate"),
  });
  expect(snapshot(terminal.folder)).toEqual(before);
});

test("the config's platforms decide which files are created, and existing files are updated", async () => {
  config({ id: "web", platforms: ["claude-code", "claude-desktop", "gemini-cli", "qwen-code"] });
  expect(await files()).toEqual({
    "CLAUDE.md": "created",
    "GEMINI.md": "created",
    "QWEN.md": "created",
  });
  config({ id: "web", platforms: ["zed"] });
  mkdirSync(join(root, ".github"));
  write(".github/copilot-instructions.md", "Be kind.\n");
  expect(await files()).toEqual({
    "AGENTS.md": "created",
    "CLAUDE.md": "unchanged",
    "GEMINI.md": "unchanged",
    "QWEN.md": "unchanged",
    ".github/copilot-instructions.md": "updated",
  });
  expect(read(".github/copilot-instructions.md")).toMatch(/^Be kind\.\n\n<!-- gate:begin/);
});

test("without platforms in the config, the hosts' folders decide", async () => {
  mkdirSync(join(root, ".claude"));
  expect(await files()).toEqual({ "CLAUDE.md": "created" });
  config({ id: "web", platforms: ["codex"] });
  expect(await files()).toEqual({ "AGENTS.md": "created", "CLAUDE.md": "unchanged" });
});

test.each([".codex", ".cursor", ".github/hooks", ".opencode", ".windsurf", ".devin", ".zed"])(
  "next to .claude, the folder %s means that AGENTS.md is needed",
  async (sign) => {
    mkdirSync(join(root, ".claude"));
    mkdirSync(join(root, sign), { recursive: true });
    expect(await files()).toEqual({ "CLAUDE.md": "created", "AGENTS.md": "created" });
  },
);

test.each([
  ["Text\n", /^Text\n\n<!-- gate:begin[^]*gate:end -->\n$/],
  ["Text", /^Text\n\n<!-- gate:begin[^]*gate:end -->$/],
  ["Text\r\n\r\n", /^Text\r\n\r\n<!-- gate:begin[^]*gate:end -->\r\n$/],
  ["\uFEFFText\n", /^\uFEFFText\n\n<!-- gate:begin[^]*gate:end -->\n$/],
  ["", /^<!-- gate:begin[^]*gate:end -->\n$/],
  [
    "a\n<!-- gate:begin old -->\nx\n<!-- gate:end -->\nb\n",
    /^a\n<!-- gate:begin -[^]*end -->\nb\n$/,
  ],
])("text outside the block is kept byte for byte: %j", async (before, after) => {
  write("AGENTS.md", before);
  await update();
  expect(read("AGENTS.md")).toMatch(after);
  if (before.includes("\r\n")) expect(read("AGENTS.md")).not.toMatch(/[^\r]\n/);
  expect(await files()).toEqual({ "AGENTS.md": "unchanged" });
});

test.each([
  "<!-- gate:begin -->\nx\n",
  "<!-- gate:end -->\n<!-- gate:begin -->\n",
  "<!-- gate:begin -->\n<!-- gate:begin -->\n<!-- gate:end -->\n",
])("unpaired marks are an error: %j", async (before) => {
  write("AGENTS.md", before);
  const { code, stderr } = await update();
  expect(code).toBe(1);
  expect(stderr).toMatch(/do not pair \(line \d/);
  expect(read("AGENTS.md")).toBe(before);
});

test("a CLAUDE.md that links to AGENTS.md is written once, and one that imports it is not changed", async () => {
  write("AGENTS.md", "Ours\n");
  symlinkSync("AGENTS.md", join(root, "CLAUDE.md"));
  expect(await files()).toEqual({ "AGENTS.md": "updated" });
  write("GEMINI.md", "");
  config({ id: "web" });
  expect(read("AGENTS.md").match(/gate:begin/g)).toHaveLength(1);
});

test("a CLAUDE.md that imports AGENTS.md needs no block", async () => {
  write("AGENTS.md", "Ours\n");
  write("CLAUDE.md", "@AGENTS.md\n");
  expect(await files()).toEqual({ "AGENTS.md": "updated", "CLAUDE.md": "unchanged" });
  expect(read("CLAUDE.md")).toBe("@AGENTS.md\n");
  rmSync(join(root, "AGENTS.md"));
  expect(await files()).toEqual({ "CLAUDE.md": "updated" });
});

test("a symbolic link out of the project is refused, because a project may be hostile", async () => {
  const target = join(terminal.folder, ".bashrc");
  writeFileSync(target, "export A=1\n");
  symlinkSync(target, join(root, "AGENTS.md"));
  const { code, stderr } = await update();
  expect(code).toBe(1);
  expect(stderr).toContain("leads out of the project");
  expect(readFileSync(target, "utf8")).toBe("export A=1\n");
});

test("a new file is readable by others, and a folder without a project is refused", async () => {
  await update();
  expect(statSync(join(root, "AGENTS.md")).mode & 0o777).toBe(0o644);
  const { code, stderr } = await terminal.run(["update-instructions"], { cwd: terminal.folder });
  expect(code).toBe(1);
  expect(stderr).toContain("try: gate init");
});
