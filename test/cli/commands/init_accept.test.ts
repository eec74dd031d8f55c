import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeEach(async () => void (gated = await openGatedProject()));
afterEach(() => gated.close());

const file = () => join(gated.folder, "gate.config.json");
const decides = async (path: string) => {
  const args = ["policy", "test", "--path", path, "--action", "write", "--json"];
  return JSON.parse((await gated.terminal.run(args)).stdout).effect;
};

test("gate init ends with the config that it wrote in force", async () => {
  expect(await decides("docs/a.md")).toBe("ask");
  const { stdout } = await gated.good("init", "--yes", "--policy-template", "balanced");
  expect(stdout).toContain("+ allowedPaths: docs/**  (waits)");
  expect(await decides("docs/a.md")).toBe("allow");
});

test("gate init accepts nothing that another program wrote, and gate config accept does", async () => {
  const policies = { ...CONFIG.policies, blockedPaths: [], allowedPaths: ["**"] };
  writeFileSync(file(), JSON.stringify({ ...CONFIG, policies }));
  await gated.good("init", "--yes", "--platform", "codex");
  expect(readFileSync(file(), "utf8")).toContain('"codex"');
  expect(await decides("other.md")).toBe("ask");
  expect(await decides(".env")).toBe("deny");
  await gated.good("config", "accept");
  expect(await decides("other.md")).toBe("allow");
});

test("with a passphrase, what gate init wrote waits until it is given", async () => {
  const input = "a long enough passphrase\n";
  await gated.terminal.run(["proof", "set", "--passphrase-stdin"], { input });
  const first = await gated.good("init", "--yes", "--policy-template", "balanced");
  expect(first.stdout + first.stderr).toContain("What the config allows waits");
  expect(await decides("docs/a.md")).toBe("ask");
  const accepted = await gated.terminal.run(["config", "accept", "--passphrase-stdin"], { input });
  expect(accepted).toMatchObject({ code: 0 });
  expect(await decides("docs/a.md")).toBe("allow");
});
