import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS, HIDDEN } from "../../../cli/commands.ts";
import { HOOKED_HOSTS, PLATFORMS } from "../../../server/hosts/hosts.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

/** The completions for the last word of a line. */
async function offered(terminal: TestTerminal, line: string, shell = "zsh"): Promise<string[]> {
  const words = line.split(" ");
  const current = words.pop()!;
  const args = ["complete", shell, `--current=${current}`, "--", ...words];
  const { code, stdout, stderr } = await terminal.run(args);
  expect({ code, stderr }, line).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").filter((one) => one !== "").map((one) => one.split("\t")[0]!);
}

describe("without a daemon", () => {
  let terminal: TestTerminal;
  beforeAll(async () => void (terminal = await createTerminal()));
  afterAll(() => terminal.close());

  test.each([
    ["app", ["approve"]],
    ["nothing-like-it", []],
    ["daemon ", ["start", "stop", "restart", "status", "logs", "help"]],
    ["daemon st", ["start", "stop", "status"]],
    ["daemon start --", ["--foreground", "--auth", "--json", "--help"]],
    ["daemon start --auth ", ["token", "none"]],
    ["daemon start --auth=", ["--auth=token", "--auth=none"]],
    ["daemon start --auth none --f", ["--foreground"]],
    ["global-setup --host co", PLATFORMS.filter((id) => id.startsWith("co")).sort().reverse()],
    ["init --policy-template ", ["strict", "balanced", "permissive"]],
    ["log -n 5 --risk h", ["high"]],
    ["log --risk=h", ["--risk=high"]],
    ["hook ", HOOKED_HOSTS.map(({ id }) => id)],
    ["hook co", ["codex", "copilot-cli"]],
    ["hook codex ", []],
    ["completion ", ["bash", "zsh", "fish", "powershell"]],
    ["audit export --format ", ["json", "csv"]],
    ["audit export -o ", [":files"]],
    ["workspace create shop --id ", [":files"]],
    ["approve -- ", []],
    ["approve ", []],
    ["log -- --js", [":files"]],
    ["token extra ", []],
    ["daemon run ", []],
    ["help wor", ["workspace"]],
  ])("%j completes to %j", async (line, values) => {
    expect((await offered(terminal, line)).sort()).toEqual([...values].sort());
  });

  test("an empty line completes to every visible command", async () => {
    const names = COMMANDS.filter(({ group }) => group !== HIDDEN).map(({ name }) => name);
    expect((await offered(terminal, "")).sort()).toEqual([...names, "help"].sort());
  });

  // bash passes the "=" of an option as its own word and expects only the value.
  test.each([
    ["log --risk = h", ["high"]],
    ["log --risk =", ["low", "medium", "high", "critical"]],
    ["log --risk = ", ["low", "medium", "high", "critical"]],
    ["log --ris", ["--risk"]],
    ["log --risk h", ["high"]],
  ])("in bash %j completes to %j", async (line, values) => {
    expect(await offered(terminal, line, "bash")).toEqual(values);
  });

  test("completion does not start the daemon", async () => {
    await offered(terminal, "approve ");
    expect(await terminal.run(["daemon", "status"])).toMatchObject({ code: 1 });
  });
});

describe("with a daemon", () => {
  let gated: GatedProject;
  beforeAll(async () => void (gated = await openGatedProject()));
  afterAll(() => gated.close());

  test("completion offers ids of held actions, projects and workspaces", async () => {
    const held = await gated.write("docs/\u001b[31mred\tand\nmore.md", "x").catch(() => null) ??
      await gated.write("docs/a.md", "x");
    await gated.good("workspace", "create", "Web shop", "--id", "shop");
    const { terminal } = gated;
    expect(await offered(terminal, "approve ")).toEqual([held.id]);
    expect(await offered(terminal, `reject ${held.id.slice(0, 9)}`)).toEqual([held.id]);
    expect(await offered(terminal, "pending --project ")).toEqual(["web"]);
    expect(await offered(terminal, "pending --project=w")).toEqual(["--project=web"]);
    expect(await offered(terminal, "workspace start ")).toEqual(["shop"]);
    for (const name of ["show", "diff", "rollback"]) {
      expect(await offered(terminal, `session ${name} `)).toContain(held.session_id);
    }
    const types = await offered(terminal, "audit export --type ");
    expect(types).toEqual(expect.arrayContaining(["action.submitted", "vote.cast"]));
    expect(await offered(terminal, "workspace add-project shop ")).toEqual([":files"]);
    const { stdout } = await gated.good("complete", "fish", "--current=", "--", "approve");
    expect(stdout).toMatch(/^[0-9a-f-]{36}\t[^\t\n]+\n$/);
  });
});
