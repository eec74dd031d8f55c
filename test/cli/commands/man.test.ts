import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMANDS, HIDDEN } from "../../../cli/commands.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

let terminal: TestTerminal;
let page: string;
beforeAll(async () => {
  terminal = await createTerminal();
  page = (await terminal.run(["man"])).stdout;
});
afterAll(() => terminal.close());

test("the man page lists every visible command and no hidden one", () => {
  for (const { name, group } of COMMANDS) {
    const head = new RegExp(`^\\.SS gate ${name.replaceAll("-", "\\\\-")}( |$)`, "m");
    if (group === HIDDEN) expect(page).not.toMatch(head);
    else expect(page).toMatch(head);
  }
  expect(page).toContain(".SS gate daemon start");
  expect(page).not.toContain(".SS gate daemon run");
});

test("every line is a man(7) request or escaped text", () => {
  const lines = page.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^\.TH GATE 1 "" "gate [\d.]+"/);
  for (const line of lines) {
    expect(line).toMatch(/^(\.(TH|SH|SS|TP|PP|B|I|nf|fi)( .+)?|[^.'].*|)$/);
    expect(line.replaceAll(/\\(e|-|&|f[BIR]|\((?:ga|aq|ti|ha)|\[u[0-9A-F]{4,5}\])/g, ""))
      .not.toContain("\\");
    expect(line).toMatch(/^[\x20-\x7e]*$/);
  }
  expect(lines.filter((line) => line === ".nf")).toHaveLength(
    lines.filter((line) => line === ".fi").length,
  );
});

test("it names the commands that an exit code belongs to", () => {
  expect(page).toContain("gate scenario: a critical failure; gate hook: it could not print");
});

test("gate man prints the same page each time", async () => {
  expect((await terminal.run(["man"])).stdout).toBe(page);
});

// The page has no date, because a date would change with each run.
test.skipIf(!has("mandoc"))("mandoc warns only about the missing date", () => {
  const { said } = ask("mandoc", ["-Tlint", "-Wwarning"]);
  expect(said.trim().split("\n").filter((line) => !line.includes("missing date"))).toEqual([]);
});

test.skipIf(!has("groff"))("groff has no warnings", () => {
  expect(ask("groff", ["-man", "-Tutf8", "-ww", "-z"])).toEqual({ status: 0, said: "" });
});

function has(program: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}

function ask(program: string, args: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { input: page, encoding: "utf8" });
  return { status, said: stdout + stderr };
}
