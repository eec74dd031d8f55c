import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;

beforeAll(async () => {
  gated = await openGatedProject();
  for (const name of ["Ann", "Ben"]) await gated.good("team", "add", name);
});

afterAll(() => gated.close());

test("a route is added, explained, changed and removed", async () => {
  expect((await gated.good("route", "list")).stdout).toContain("There is no approval route");
  const added = await gated.good(
    ...["route", "add", "Production", "--path", "deploy/**", "infra/**"],
    ...["--member", "ann", "ben", "--quorum", "2", "--escalate-after", "15m"],
    ...["--escalate-to", "reviewer", "--expires-after", "1h"],
  );
  expect(added.stdout).toContain("matches: paths deploy/** infra/**");
  expect(added.stdout).toContain("asks: 2 of ann, ben");
  const tested = await gated.good("route", "test", "--path", "deploy/a.yaml");
  expect(tested.stdout).toContain('production: the path matches "deploy/**"');
  expect((await gated.good("route", "test", "--path", "notes.md")).stdout)
    .toContain("one reviewer approves");
  expect(await gated.json("route", "change", "production", "--remind-at", "0.25", "--json"))
    .toMatchObject({ remind_at: [0.25], escalate_after_seconds: 900, expires_after_seconds: 3600 });
  await gated.good("route", "remove", "production");
  expect(await gated.json("route", "list", "--json")).toEqual([]);
});

test("pending shows who answered, who is asked, until when, and whom else", async () => {
  expect((await gated.good("pending", "--routed")).stdout).toContain("No held action has a route");
  expect((await gated.good("pending", "--escalations")).stdout).toContain("Nothing has escalated");
  await gated.good(
    ...["route", "add", "Deploys", "--path", "deploy/**", "--member", "reviewer", "ann"],
    ...["--quorum", "2", "--escalate-after", "1s", "--escalate-to", "ben", "--expires-after", "1h"],
  );
  const { id } = await gated.write("deploy/a.yml", "a: 1\n");
  expect((await gated.good("approve", id)).stdout).not.toContain("written");
  await vi.waitFor(async () => {
    expect(await gated.json("pending", "--escalations", "--json"))
      .toMatchObject([{ action_id: id, route_id: "deploys", level: 1, to: ["ben"] }]);
  }, { timeout: 60_000, interval: 100 });
  const { stdout } = await gated.good("pending", "--routed", "--project", "web");
  expect(stdout).toMatch(
    new RegExp(
      `^${id} +deploys +1 of 2 +until \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\dZ +` +
        "reviewer approved, ann is asked, ben is asked +deploy/a.yml",
      "m",
    ),
  );
  expect(await gated.json("pending", "--routed", "--json"))
    .toMatchObject([{ need: 2, have: 1, answered: [{ member_id: "reviewer" }] }]);
  expect((await gated.good("pending", "--escalations")).stdout)
    .toMatch(new RegExp(`${id} +deploys +level 1 +since .*Z +to ben`));
  await gated.good("reject", id, "--reason", "enough");
  expect(await gated.json("pending", "--routed", "--json")).toEqual([]);
  await gated.good("route", "remove", "deploys");
});

test.each([
  [["route", "add", "X"], 1, "it has no approvers"],
  [["route", "add", "X", "--member", "eve"], 1, '"eve" is no member'],
  [["route", "add", "X", "--member", "ann", "--quorum", "none"], 64, "whole number"],
  [["route", "add", "X", "--member", "ann", "--remind-at", "2"], 64, "parts between 0 and 1"],
  [["route", "add", "X", "--member", "ann", "--min-risk", "huge"], 64, "Allowed choices"],
  [["route", "change", "x"], 64, "give at least one option"],
  [["route", "change", "x", "--quorum", "1"], 1, 'Cannot find approval route "x"'],
  [["route", "remove", "x"], 1, 'Cannot find approval route "x"'],
  [["route", "test"], 64, "no command or path is given"],
])("gate %j is refused", async (args, code, part) => {
  const ended = await gated.terminal.run(args);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(part)]);
});
