import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;

beforeAll(async () => {
  gated = await openGatedProject();
});

afterAll(() => gated.close());

test("the team is empty at first, and the terminal decides as the owner", async () => {
  expect((await gated.good("team", "list")).stdout).toContain("The team is empty");
  expect((await gated.good("team", "whoami")).stdout).toContain("the owner of this machine");
});

test("a member is added with a link, changed and removed", async () => {
  const added = await gated.good("team", "add", "Ann Miller", "--role", "admin");
  expect(added.stdout).toContain("added: Ann Miller (ann-miller), admin");
  expect(added.stdout).toMatch(/http:\/\/localhost:\d+\/login\?code=/);
  expect((await gated.good("team", "list")).stdout).toMatch(/ann-miller\s+admin\s+Ann Miller/);
  const { url } = await gated.json("team", "link", "ann-miller", "--json");
  expect(url).toMatch(/\/login\?code=/);
  expect(await gated.json("team", "change", "ann-miller", "--email", "ann@example.org", "--json"))
    .toMatchObject({ email: "ann@example.org", role: "admin" });
  expect(await gated.json("team", "change", "ann-miller", "--email", "", "--json"))
    .toMatchObject({ email: null });
  expect((await gated.good("team", "remove", "ann-miller")).stdout).toContain(
    "removed: Ann Miller",
  );
  expect(await gated.json("team", "list", "--json")).toEqual([]);
});

test.each([
  [["team", "remove", "none"], 1, 'Cannot find member "none"'],
  [["team", "add", "日本"], 1, 'give an "id"'],
  [["team", "add", "X", "--role", "boss"], 64, "Allowed choices are viewer, reviewer, admin"],
  [["team", "add", "X", "--email", "nobody"], 1, "e-mail address"],
  [["team", "change", "ann"], 64, "give --name, --role or --email"],
  [["team", "ad"], 64, "gate"],
])("gate %j is refused", async (args, code, part) => {
  const ended = await gated.terminal.run(args);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(part)]);
});
