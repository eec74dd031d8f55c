import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listCommands } from "./every_command.ts";
import { createTerminal, type TestTerminal } from "./terminal.ts";

let terminal: TestTerminal;
beforeAll(async () => void (terminal = await createTerminal()));
afterAll(() => terminal.close());

// The scenario tool has its own parser, help and exit codes.
const commands = (await listCommands()).filter(({ path }) => path[0] !== "scenario");
const rows = commands.map(({ path, command }) => [path.join(" "), command] as const);

/** Commands without --json, with the reason. */
const WITHOUT_JSON: Record<string, string> = {
  "global-config edit": "opens an editor",
  start: "serves until it is stopped",
  token: "prints a credential and nothing else",
  hook: "prints what a host reads",
  mcp: "speaks MCP on standard output",
  "audit export": "prints JSON or CSV by its --format",
  api: "prints the answer of the API",
  completion: "prints a script",
  man: "prints a page",
  statusline: "prints what Claude Code shows",
};

describe.each(rows)("gate %s", (line, command) => {
  const path = line.split(" ");

  test("--help succeeds, and its examples use known commands", async () => {
    const { code, stdout, stderr } = await terminal.run([...path, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: gate ${line}`);
    expect(stdout).toMatch(/\nExamples?\b.*:\n[^]*\bgate\b/);
    for (const example of stdout.split(/\nExamples?\b.*:\n/)[1]!.split("\n")) {
      const [, typed] = /^ {2}(?:\S+ && )?gate ([a-z][\w -]*)/.exec(example) ?? [];
      if (typed) expect(isKnown(typed), example).toBe(true);
    }
  });

  test("a mistyped option exits with 64 and suggests the right one", async () => {
    const names = command.createHelp().visibleOptions(command).map(({ long }) => long!);
    const must = command.options.filter(({ mandatory }) => mandatory)
      .flatMap(({ long }) => [long!, "x"]);
    // Dropping the last letter of "--jsonl" gives another valid option.
    const mistyped = names.filter((name) => !names.includes(name.slice(0, -1)));
    for (const name of mistyped.filter((long) => long.length > 5)) {
      const { code, stdout, stderr } = await terminal.run([...path, ...must, name.slice(0, -1)]);
      expect({ code, stdout }, name).toEqual({ code: 64, stdout: "" });
      expect(stderr).toMatch(/^gate: unknown option '.*'\n\(Did you mean .*\?\)/);
      expect(stderr).toContain(name);
      expect(stderr).toContain(`try: gate ${line} --help`);
    }
  });

  test("it has --json, or is listed as an exception", () => {
    const isGroup = command.commands.length > 0;
    const hasJson = command.options.some(({ long }) => long === "--json");
    expect(hasJson || isGroup).toBe(WITHOUT_JSON[line] === undefined);
  });
});

test("a mistyped command exits with 64 and suggests the right one", async () => {
  for (const { path } of commands) {
    const wrong = [...path.slice(0, -1), `${path.at(-1)!.slice(0, -1)}q`];
    const { code, stdout, stderr } = await terminal.run(wrong);
    expect({ code, stdout }, wrong.join(" ")).toEqual({ code: 64, stdout: "" });
    expect(stderr).toMatch(/^gate: unknown command/);
    if (path.at(-1)!.length > 3) expect(stderr).toMatch(/\(Did you mean .*\?\)/);
  }
});

function isKnown(typed: string): boolean {
  const words = typed.split(" ").filter((word) => word !== "");
  const known = commands.map(({ path }) => path.join(" "));
  return words[0] === "scenario" || known.includes(words[0]!) || known.includes(words.join(" "));
}
