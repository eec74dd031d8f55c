import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { displayWidth } from "../../../cli/terminal/width.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

vi.setConfig({ testTimeout: 60_000 });

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

const LONG = `${"读我很长/".repeat(30)}读我.md`;

/** The lines of `gate log` on a terminal of 120 columns. */
async function seen(...args: string[]): Promise<string[]> {
  const { code, stdout } = await gated.terminal.run(args, { person: true });
  expect(code).toBe(0);
  return stdout.trimEnd().split("\n");
}

test('session list writes "1 action" in the singular', async () => {
  await gated.write("docs/a.md", "a\n");
  const lines = await seen("session", "list");
  expect(lines.join("\n")).toContain("1 action, 1 held");
  expect(lines.join("\n")).not.toMatch(/1 actions| $/m);
});

test("on a terminal each action fits one line and shows a usable id prefix", async () => {
  await gated.write(LONG, "b\n");
  await gated.submit("run_command", { command: "echo 'a b' && npm publish --tag next" });
  for (const command of ["log", "pending"]) {
    const lines = await seen(command);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(120);
    expect(lines.join("\n")).toMatch(/读我[^ ]*…/);
    for (const line of lines) {
      const typed = line.slice(0, line.indexOf(" "));
      expect(typed.length).toBeLessThan(36);
      const { id } = await gated.json("show", typed, "--json");
      expect(id.startsWith(typed)).toBe(true);
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
