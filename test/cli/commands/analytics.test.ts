import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;

beforeAll(async () => {
  gated = await openGatedProject();
});

afterAll(() => gated.close());

test("attention names who decides faster than they can read", async () => {
  expect((await gated.good("analytics", "attention")).stdout).toBe("No person decided in 30d.\n");
  for (let n = 0; n < 5; n++) {
    const { id } = await gated.write(`quick/${n}.txt`, "x".repeat(100_000));
    await gated.good("approve", id);
  }
  const { stdout, stderr } = await gated.good("analytics", "attention", "--window", "1d");
  expect(stdout).toMatch(
    /^person +decisions +approved +median +characters +quick +risky +streak\n/,
  );
  expect(stdout).toMatch(/\nreviewer +5 +5 .* 500000 +5 +\d +5\n$/);
  expect(stderr).toContain("reviewer: 5 approvals in a row took less time than reading them takes");
  const { reviewers } = await gated.json("analytics", "attention", "--json");
  expect(reviewers).toMatchObject([{ reviewer: "reviewer", quick: 5, is_streak: true }]);
  expect(await gated.json("analytics", "attention", "--project", "web", "--json"))
    .toMatchObject({ reviewers });
});

test("summary sums the decisions up", async () => {
  await gated.submit("write_file", { path: ".env", content: "A=1" });
  const { stdout } = await gated.good("analytics", "summary", "--project", "web");
  expect(stdout).toMatch(/^\d+ decisions in 30d\n/);
  expect(stdout).toMatch(/\nMost blocked\n {2}1 +.*\.env\n$/);
  expect(await gated.json("analytics", "summary", "--json")).toMatchObject({ window: "30d" });
});

test.each([
  [["analytics", "attention", "--window", "week"], 64, "Expected minutes, hours or days"],
  [["analytics", "summary", "--window", ""], 64, "Expected minutes, hours or days"],
  [["analytics", "attention", "--project", "none"], 1, '"none"'],
  [["analytics", "atention"], 64, "attention"],
])("gate %j is refused", async (args, code, part) => {
  const ended = await gated.terminal.run(args);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(part)]);
});
