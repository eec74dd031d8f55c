import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeEach(async () => void (gated = await openGatedProject()));
afterEach(() => gated.close());

const config = () => JSON.parse(readFileSync(join(gated.folder, "gate.config.json"), "utf8"));

/** Approves eight similar writes and rejects one other. Returns the rejected id. */
async function makeHabit(): Promise<string> {
  for (let at = 0; at < 8; at++) {
    const { id } = await gated.write(`docs/guide/${at}.md`, "x");
    await gated.good("approve", id);
  }
  const { id } = await gated.write("docs/internal/plan.md", "x");
  await gated.good("reject", id, "--reason", "no");
  return id;
}

test("policy replay shows changed decisions of other policies, by rule and with ids", async () => {
  const rejected = await makeHabit();
  writeFileSync(join(gated.folder, "rules.json"), '{ "allowedPaths": ["docs/**"], /* why */ }');
  const { stdout } = await gated.good("policy", "replay", "--policies", "rules.json");
  expect(stdout).toMatch(/9 recorded actions since .* replayed/);
  expect(stdout).toMatch(/newly allowed {2}9\n {2}prompts saved {2}9/);
  expect(stdout).toContain("1 that a person rejected would be allowed");
  expect(stdout).toMatch(/docs\/\*\* {2}\(project allowedPaths\)/);
  expect(stdout).toContain(`${rejected}  ask, rejected → allow  docs/internal/plan.md`);
  const whole = { ...config(), policies: { defaultEffect: "deny" } };
  writeFileSync(join(gated.folder, "new.json"), JSON.stringify(whole));
  const replay = await gated.json("policy", "replay", "--config", "new.json", "--json");
  expect(replay).toMatchObject({ checked: 9, totals: { newly_blocked: 9 } });
  expect((await gated.json("policy", "replay", "--json")).totals.newly_blocked).toBe(0);
});

test.each([
  [["--since", "soon"], 64, "--since takes"],
  [["--policies", "absent.json"], 1, 'Cannot read "absent.json": it does not exist\n  try: gate'],
  [["--config", "no/such.json"], 1, 'Cannot read "no/such.json": its folder does not exist'],
  [["--policies", "."], 1, 'Cannot read ".": it is a folder'],
  [["--policies", "bad.json"], 1, "bad.json:1:20"],
  [["--policies", "a", "--config", "b"], 64, "not both"],
])("policy replay %j is refused with a reason", async (args, code, message) => {
  writeFileSync(join(gated.folder, "bad.json"), '{ "defaultEffect": "maybe" }');
  const ended = await gated.terminal.run(["policy", "replay", ...args]);
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({
    code,
    stderr: expect.stringContaining(message),
  });
});

test("policy suggest prints rules, and --apply --yes writes them", async () => {
  await makeHabit();
  const before = config();
  const { stdout } = await gated.good("policy", "suggest");
  expect(stdout).toContain("A person was asked 9 times: 8 approved, 1 rejected");
  const pasted = JSON.parse(stdout.slice(stdout.indexOf("{"), stdout.lastIndexOf("}") + 1));
  expect(pasted).toEqual({
    allowedPaths: [{ pattern: "docs/guide/*.md", reason: expect.any(String) }],
  });
  expect(config()).toEqual(before);
  const unasked = await gated.terminal.run(["policy", "suggest", "--apply"]);
  expect(unasked).toMatchObject({ code: 64, stderr: expect.stringContaining("--yes") });
  expect(config()).toEqual(before);
  const written = await gated.good("policy", "suggest", "--apply", "--yes");
  expect(written.stderr).toContain("Written: allowedPaths");
  expect(config().policies.allowedPaths).toEqual(["src/**", pasted.allowedPaths[0]]);
  expect(await gated.write("docs/guide/new.md", "x")).toMatchObject({ status: "approved" });
});

test("policy suggest --apply asks for confirmation, and no writes nothing", async () => {
  await makeHabit();
  const before = config();
  for (const [answer, code] of [["n", 1], ["y", 0]] as const) {
    const ended = gated.terminal.run(["policy", "suggest", "--apply"], { person: true });
    await until(
      "the question is shown",
      () => gated.terminal.printed().includes("Write these rules"),
    );
    expect(config()).toEqual(before);
    gated.terminal.type(answer);
    expect((await ended).code).toBe(code);
  }
  expect(config().policies.allowedPaths).toHaveLength(2);
});
