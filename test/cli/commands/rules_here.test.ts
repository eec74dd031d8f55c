import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
let other: string;
let outside: string;

/** Two projects, one of which has lost its config, and a folder of no project. */
beforeAll(async () => {
  gated = await openGatedProject();
  const folder = (name: string) => {
    const path = join(gated.terminal.folder, name);
    mkdirSync(path);
    return path;
  };
  other = folder("other");
  outside = folder("outside");
  const policies = { defaultEffect: "deny", blockedCommands: ["ls"] };
  writeFileSync(join(other, "gate.config.json"), JSON.stringify({ id: "other", policies }));
  expect(await run(other, "init", "--yes")).toMatchObject({ code: 0 });
  mkdirSync(join(gated.folder, "deep"));
  rmSync(join(gated.folder, "gate.config.json"));
});
afterAll(() => gated.close());

function run(cwd: string, ...args: string[]) {
  return gated.terminal.run(args, { cwd });
}

async function judged(cwd: string, command: string) {
  return JSON.parse((await run(cwd, "policy", "test", "--json", "--command", command)).stdout);
}

test("a folder whose config is gone is judged by the rules that were accepted last", async () => {
  for (const folder of [gated.folder, join(gated.folder, "deep")]) {
    expect(await judged(folder, "ls")).toMatchObject({
      effect: "allow",
      rule: { source: "project", pattern: "ls" },
    });
  }
  const { stdout } = await run(gated.folder, "status");
  expect(stdout).toContain("This folder belongs to web");
});

test("config show says that the file is gone, what holds, and the next step", async () => {
  const shown = await run(gated.folder, "config", "show");
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.stdout).toMatch(/gate\.config\.json {2}deleted \d{4}-\d\d-\d\d \d\d:\d\dZ\n/);
  expect(shown.stdout).toContain(
    "The rules that were accepted last stay in force. Put the file back",
  );
  expect(shown.stdout).not.toMatch(/waits|gate config accept/);
});

test("a folder of no project is judged by the machine's rules, not by a project's", async () => {
  const rule = await judged(outside, "ls");
  expect(rule.effect).not.toBe("deny");
  expect((await judged(outside, "made-up-program")).effect).toBe("ask");
  const named = await run(
    outside,
    "policy",
    "test",
    "--project",
    "other",
    "--json",
    "--command",
    "ls",
  );
  expect(JSON.parse(named.stdout).effect).toBe("deny");
  const shown = await run(outside, "config", "show");
  expect(shown).toMatchObject({ code: 0, stdout: "The accepted configs are in force.\n" });
  expect((await run(outside, "status")).stdout).toContain("This folder belongs to no project.");
});

test("a project inside of one whose config is gone keeps its own rules", async () => {
  const inner = join(gated.folder, "deep");
  writeFileSync(join(inner, "gate.config.json"), JSON.stringify({ ...CONFIG, id: "inner" }));
  await run(inner, "init", "--yes");
  expect((await run(inner, "status")).stdout).toContain("This folder belongs to inner");
  rmSync(join(inner, "gate.config.json"));
  expect((await run(inner, "status")).stdout).toContain("This folder belongs to inner");
});
