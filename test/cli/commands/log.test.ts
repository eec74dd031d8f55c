import { afterAll, beforeAll, expect, test } from "vitest";
import { displayWidth } from "../../../cli/terminal/width.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

const LONG = `${"读我很长/".repeat(30)}读我.md`;

/** The lines of a command on a terminal of so many columns. */
async function seen(args: string[], columns = 120): Promise<string[]> {
  const { code, stdout } = await gated.terminal.run(args, { person: true, columns });
  expect(code).toBe(0);
  return stdout.trimEnd().split("\n");
}

test('session list writes "1 action" in the singular', async () => {
  await gated.write("docs/a.md", "a\n");
  const lines = await seen(["session", "list"]);
  expect(lines.join("\n")).toContain("1 action, 1 held");
  expect(lines.join("\n")).not.toMatch(/1 actions| $/m);
});

test("a path that does not fit loses its middle and keeps its file name", async () => {
  await gated.write(`${"deep/".repeat(40)}name.txt`, "a\n");
  expect((await seen(["pending"], 80))[0]).toMatch(/ write_file d[^ ]*….*name\.txt$/);
});

test.each([
  ["log", 120],
  ["log", 80],
  ["pending", 120],
  ["pending", 80],
])(
  "gate %s fits each action into a line of %i columns, with a usable id prefix",
  async (command, columns) => {
    await gated.write(LONG, "b\n");
    await gated.submit("run_command", { command: "echo 'a b' && npm publish --tag next" });
    const lines = await seen([command], columns);
    expect(lines.length).toBeGreaterThanOrEqual(3);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines.join("\n")).toMatch(/读我[^ ]*…/);
    for (const line of lines) {
      const typed = line.slice(0, line.indexOf(" "));
      expect(typed.length).toBeLessThan(36);
      const { id } = await gated.json("show", typed, "--json");
      expect(id.startsWith(typed)).toBe(true);
    }
  },
);

test("gate pending names the project and the risk of each action", async () => {
  const { id } = await gated.json("project", "list", "--json").then(([one]) => one);
  for (const columns of [120, 80]) {
    for (const line of await seen(["pending"], columns)) {
      expect(line).toMatch(/(?:low|medium|high|critical)/);
      expect(line).toContain(id.slice(0, 11));
    }
  }
});

test("without a terminal the log prints complete ids and paths", async () => {
  const { stdout } = await gated.good("log");
  expect(stdout).toContain(LONG);
  expect(stdout).toMatch(/^[\da-f-]{36} /m);
  // deno-lint-ignore no-control-regex
  expect(stdout).not.toMatch(/\x1b/);
});
