import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

const PASSPHRASE = "correct horse battery";

let gated: GatedProject;
beforeAll(async () => {
  gated = await openGatedProject("none");
  await given("proof", "set");
});
afterAll(() => gated.close());

function given(...args: string[]) {
  const input = `${PASSPHRASE}\n`;
  return gated.terminal.run([...args, "--passphrase-stdin"], { input });
}

function save(policies: object): void {
  const file = join(gated.folder, "gate.config.json");
  writeFileSync(file, JSON.stringify({ ...CONFIG, policies: { ...CONFIG.policies, ...policies } }));
}

async function effectOf(command: string): Promise<string> {
  const { stdout } = await gated.terminal.run(["policy", "test", "--json", "--command", command]);
  return JSON.parse(stdout).effect;
}

test("what allows more waits until a person accepts it with the passphrase", async () => {
  expect((await gated.good("config", "show")).stdout).toBe("The accepted configs are in force.\n");
  save({ allowedCommands: ["ls", "pwd"] });
  expect(await effectOf("pwd")).toBe("ask");
  const shown = (await gated.good("config", "show")).stdout;
  expect(shown).toMatch(/gate\.config\.json {2}changed .*, a part waits for you\n.*pwd.*\(waits\)/);
  expect(shown).toContain("gate config accept");
  const unproved = await gated.terminal.run(["config", "accept"]);
  expect(unproved).toMatchObject({ code: 64 });
  expect(unproved.stderr).toContain("--passphrase-stdin");
  expect(await effectOf("pwd")).toBe("ask");
  const other = await given("config", "accept", "--sha256", "0".repeat(64));
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(await given("config", "accept")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("✓"),
  });
  expect(await effectOf("pwd")).toBe("allow");
  const again = await given("config", "accept");
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing waits") });
  await gated.good("audit", "verify");
});

test("what denies more is in force at once", async () => {
  save({ allowedCommands: ["ls", "pwd"], blockedCommands: ["make deploy"] });
  expect(await effectOf("make deploy")).toBe("deny");
  const shown = (await gated.good("config", "show")).stdout;
  expect(shown).not.toContain("(waits)");
  expect(shown).toContain(", in force, not yet accepted\n");
  expect((await gated.good("status")).stdout).toContain("in force, not yet accepted");
});

test("an accepted tightening stays in force when the file goes back", async () => {
  expect(await given("config", "accept")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("accepted: 1 file"),
  });
  expect((await gated.good("config", "show")).stdout).toBe("The accepted configs are in force.\n");
  expect((await gated.good("status")).stdout).not.toContain("not yet accepted");
  save({ allowedCommands: ["ls", "pwd"] });
  expect(await effectOf("make deploy")).toBe("deny");
  expect((await gated.good("config", "show")).stdout).toContain("make deploy  (waits)");
});

test("global-config edit accepts what it saved, with the passphrase", async () => {
  await gated.good("global-config", "init");
  gated.terminal.env.EDITOR =
    `printf '%s' '{"version":"1","policies":{"allowedCommands":["id"]}}' >`;
  const unproved = await gated.terminal.run(["global-config", "edit"]);
  expect(unproved).toMatchObject({ code: 1 });
  expect(unproved.stderr).toContain("The file is saved, but a part of it waits");
  gated.terminal.env.EDITOR =
    `printf '%s' '{"version":"1","policies":{"allowedCommands":["id","tty"]}}' >`;
  expect(await given("global-config", "edit")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("The new rules are in force."),
  });
  gated.terminal.env.EDITOR =
    `printf '%s' '{"version":"1","retention":{"day":9},"policies":{"allowedCommands":["id"]}}' >`;
  expect((await given("global-config", "edit")).stderr).toContain(
    '! "day" in the retention of config.json has no effect: did you mean "days"?',
  );
  gated.terminal.env.EDITOR = `printf '%s' '{"policies":{"blockedPath":["x"]}}' >`;
  const refused = await given("global-config", "edit");
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain('did you mean "blockedPaths"?; nothing changed');
});
