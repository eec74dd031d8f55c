import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leadsOutside } from "../../../../server/actions/execute/walled.ts";
import type { SandboxEngine } from "../../../../server/environment.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import { identify } from "../../../../server/runtime/processes.ts";
import { createTestGate } from "../../../helpers.ts";
import { createTempFolder } from "../../../temp_folder.ts";

test("an opened folder leads outside the project by its place, or by a link in the project", () => {
  const base = realpathSync(createTempFolder("walled"));
  const root = join(base, "project");
  mkdirSync(join(root, "inner"), { recursive: true });
  mkdirSync(join(base, "other"));
  symlinkSync(join(base, "other"), join(root, "link"));
  expect(leadsOutside(join(root, "inner"), [root])).toBe(false);
  expect(leadsOutside(join(base, "other"), [root])).toBe(true);
  expect(leadsOutside(join(root, "link"), [root])).toBe(true);
  expect(leadsOutside("~/cache", [root])).toBe(true);
  expect(leadsOutside("~/cache", [realpathSync(homedir())])).toBe(false);
});

test.each<[engine: SandboxEngine["name"], runsOn: boolean]>([
  ["bubblewrap", false],
  ["landlock", true],
])(
  "whether a command of %s goes on without the process that claimed it: %s",
  async (name, runsOn) => {
    const engine = { name, path: "/engine", version: "1", can_mask: name === "bubblewrap" };
    const gate = await createTestGate({
      policies: policyTemplate("balanced"),
      files: { "src/a.txt": "one\n" },
      sandbox: () => Promise.resolve(engine),
    });
    const claim = async (command: string, more: object) => {
      const agent = { id: "agent", scope: "agent" } as never;
      const input = { tool: "run_command", input: { command }, wait_ms: 0 };
      const { action: { id } } = await gate.project.actions.submit(input, agent);
      return await gate.project.actions.claim(id, { sandbox: true, ...more }, agent);
    };
    const runner = spawn("sleep", ["600"]);
    const process = identify(runner.pid!)!;
    expect((await claim("python3 x.py", { process })).walls).not.toBeNull();
    // A proved command runs in the sandbox while another one does.
    expect((await claim("cat src/a.txt", { process })).walls).not.toBeNull();
    runner.kill("SIGKILL");
    await once(runner, "exit");
    expect((await claim("cat src/a.txt", {})).walls !== null).toBe(runsOn);
  },
);
