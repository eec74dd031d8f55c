import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS, HIDDEN } from "../../cli/commands.ts";
import { createTerminal, type TestTerminal } from "./terminal.ts";

let terminal: TestTerminal;
beforeAll(async () => void (terminal = await createTerminal()));
afterAll(() => terminal.close());

describe("wrong usage exits with 64, and prints a hint and nothing on stdout", () => {
  test.each([
    [["nonsense"], "unknown command 'nonsense'"],
    [["tokn"], "Did you mean token?"],
    [["daemon", "stat"], "Did you mean start?"],
    [["version"], "unknown command 'version'\n  try: gate --version"],
    [["-v"], "unknown option '-v'\n  try: gate --version, or gate -V"],
    [["undo"], "unknown command 'undo'\n  try: gate rollback <id>"],
    [["stop"], "unknown command 'stop'\n  try: gate daemon stop"],
    [["logs"], "try: gate daemon logs, or gate service logs"],
    [["help", "restart"], "unknown command 'restart'\n  try: gate daemon restart"],
    [["constructor"], "unknown command 'constructor'\n  try: gate --help"],
    [["--nonsense"], "unknown option '--nonsense'"],
    [["token", "--scope", "root"], "Allowed choices are agent, viewer, reviewer"],
    [["token", "extra"], "too many arguments"],
    [["show"], "missing required argument 'id'\n  try: gate show --help"],
    [["daemon", "logs", "--loud"], "try: gate daemon logs --help"],
    [["show", "nothex"], "it takes 4 to 36 hex digits\n  try: gate log\n"],
    [["approve", "nothex"], "it takes 4 to 36 hex digits\n  try: gate pending\n"],
    [["grant", "revoke", "nothex"], "as the id of a grant: it takes 4 to 36 hex digits"],
    [["approve"], "missing required argument 'id'"],
    [["reject", "0199a1b2"], "required option '--reason <text>' not specified"],
    [["rollback", "0199a1b2", "--on-conflict", "hope"], "Allowed choices are abort, merge, force"],
    [["log", "-n", "0"], "whole number from 1 to 500"],
    [["log", "-n", "1e2"], "whole number from 1 to 500"],
    [["log", "--status", "maybe"], "Allowed choices are pending"],
    [["api", "FETCH", "/api/actions"], "it is not a method of the API"],
    [["api", "GET", "api/actions"], 'a path of the API begins with one "/"'],
    [["api", "GET", "//evil"], 'a path of the API begins with one "/"'],
    [["api", "GET", "/x", "--scope", "root"], "it must be agent, viewer or reviewer"],
    [["init"], "Cannot ask questions: the input is not a terminal"],
    [["init", "--yes", "--platform", "emacs"], "known platforms are claude-desktop"],
    [["init", "--yes", "--policy-template", "lax"], "Allowed choices are strict"],
    [["init", "--yes", "--id", "../up"], 'Cannot use the id "../up"'],
    [["init", "--yes", "--id", ""], 'Cannot use the id ""'],
    [["policy", "test", "--nonsense"], "unknown option"],
    [["daemon", "start", "--auth", "open"], "Allowed choices are token, none"],
    [["daemon", "logs", "-n", "-1"], "whole number"],
  ])("gate %j", async (args, hint) => {
    const { code, stdout, stderr } = await terminal.run(args);
    expect(stderr).toContain(hint);
    expect(stderr).toMatch(/^gate: /);
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" });
  });
});

test("gate --help lists help in the Help group, and gate help shows one command", async () => {
  const { stdout } = await terminal.run(["--help"]);
  expect(stdout).toMatch(/^Help:\n(?: {2}.*\n)* {2}help \[command\]/m);
  expect(stdout).not.toContain("Commands:");
  expect((await terminal.run(["help", "reject"])).stdout).toMatch(/^Usage: gate reject/);
});

test("an invalid GATE_PORT is wrong usage", async () => {
  for (const port of ["0", "65536", "abc", "-1", "1e3"]) {
    const wrong = await createTerminal({ GATE_PORT: port });
    expect(await wrong.run(["pending"])).toMatchObject({ code: 64 });
    wrong.close();
  }
});

test("a data folder that is a file is an error with one fix", async () => {
  const file = join(terminal.folder, "file");
  writeFileSync(file, "");
  const wrong = await createTerminal({ GATE_HOME: file });
  for (const args of [["pending"], ["daemon", "start"], ["workspace", "list"]]) {
    expect(await wrong.run(args)).toEqual({
      code: 1,
      stdout: "",
      stderr: `gate: Cannot use the data folder "${file}": it is not a folder\n` +
        `  try: mv ${file} ${file}.old\n`,
    });
  }
  wrong.close();
});

describe("without a daemon", () => {
  test.each([
    [["status"], "Cannot reach the daemon: it is not running\n  try: gate daemon start"],
    [["daemon", "status"], "Cannot reach the daemon: it is not running\n  try: gate daemon start"],
    [["start"], "no gate.config.json in this folder or above\n  try: gate init"],
    [["global-config", "show"], "try: gate global-config init"],
  ])("gate %j fails with the next step", async (args, hint) => {
    const { code, stdout, stderr } = await terminal.run(args);
    expect(stderr).toContain(hint);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });

  test("gate prompt prints nothing and succeeds", async () => {
    expect(await terminal.run(["prompt"])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect((await terminal.run(["prompt", "--json"])).stdout)
      .toBe('{"running":false,"pending":0}\n');
  });

  test("gate daemon stop and gate daemon logs succeed", async () => {
    expect(await terminal.run(["daemon", "stop"]))
      .toMatchObject({ code: 0, stdout: "The daemon is not running.\n" });
    expect(await terminal.run(["daemon", "logs"])).toMatchObject({ code: 0 });
  });

  test("gate token prints only the token, and the same one each time", async () => {
    const first = await terminal.run(["token"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^[\w-]{43}\n$/);
    expect(await terminal.run(["token", "--scope", "reviewer"])).toEqual(first);
    const agent = await terminal.run(["token", "--scope", "agent"]);
    expect(agent.stdout).not.toBe(first.stdout);
  });
});

describe("help", () => {
  test("gate without arguments lists every command and succeeds", async () => {
    const { code, stdout, stderr } = await terminal.run([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const shown = COMMANDS.filter(({ group }) => group !== HIDDEN);
    for (const { name, summary } of shown) expect(stdout).toContain(`${name} `), summary;
    expect(stdout).not.toMatch(/^ +complete /m);
    expect(stdout).toContain("Examples:");
  });

  // The scenario tool has its own help.
  const ours = COMMANDS.map(({ name }) => name).filter((name) => name !== "scenario");
  test.each(ours)("gate %s --help", async (name) => {
    const { code, stdout, stderr } = await terminal.run([name, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: gate ${name}`);
    expect(await terminal.run(["help", name])).toEqual({ code, stdout, stderr });
    const words = [...stdout.matchAll(/^ {2}([a-z][a-z-]+) \[options\]/gm)].map(([, word]) =>
      word!
    );
    const texts = [stdout];
    for (const word of words) texts.push((await terminal.run([name, word, "--help"])).stdout);
    const lines = texts.flatMap((text) => text.split("\n"));
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  test.each([
    [["help", "nope"], "unknown command 'nope'\n  try: gate --help"],
    [["help", "aprove"], "(Did you mean approve?)"],
    [["policy", "help", "tset"], "(Did you mean test?)\n  try: gate policy --help"],
  ])("gate %j names the unknown command", async (args, hint) => {
    const { code, stdout, stderr } = await terminal.run(args);
    expect([code, stdout]).toEqual([64, ""]);
    expect(stderr).toContain(hint);
    expect(stderr).not.toContain("Usage:");
  });

  test("the descriptions of options are wrapped in a narrow terminal", async () => {
    const { stdout } = await terminal.run(["approve", "--help"], { person: true, columns: 40 });
    const options = /^Options:\n([\s\S]+?)\n\n/m.exec(stdout)![1]!.split("\n");
    expect(options.filter((line) => line.length > 40)).toEqual([]);
  });
});

test.each([
  ["a file", (folder: string) => join(folder, "file"), "it is not a folder\n  try: mv "],
  [
    "below a file",
    (folder: string) => join(folder, "file", "x"),
    "a part of its path is not a folder",
  ],
  [
    "a name that is too long",
    (folder: string) => join(folder, "x".repeat(300)),
    "the name is too long",
  ],
])("a home that is %s is an error with its cause", async (_title, home, hint) => {
  const other = await createTerminal();
  writeFileSync(join(other.folder, "file"), "");
  other.env.GATE_HOME = home(other.folder);
  for (const args of [["token"], ["pending"], ["daemon", "start"]]) {
    const { code, stdout, stderr } = await other.run(args);
    expect({ code, stdout }, args.join(" ")).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(hint);
  }
  other.close();
});

test("the error of a broken file names its line and shows no stack trace", async () => {
  const project = join(terminal.folder, "broken");
  mkdirSync(project);
  writeFileSync(join(project, "gate.config.json"), '{\n  "id": "x",\n  "policies": {]\n}');
  const { code, stderr } = await terminal.run(["init", "--yes"], { cwd: project });
  expect(code).toBe(1);
  expect(stderr).toContain("at line 3, column 16");
  expect(stderr).not.toMatch(/\n\s+at /);
});
