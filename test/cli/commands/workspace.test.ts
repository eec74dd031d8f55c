import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
let held: string;
beforeAll(async () => {
  gated = await openGatedProject();
  held = (await gated.write("docs/a.md", "x")).id;
});
afterAll(() => gated.close());

test("workspace create, add-project, show and start work", async () => {
  const api = join(gated.terminal.folder, "api");
  mkdirSync(api);
  writeFileSync(join(api, "gate.config.json"), '{"id": "api"}');
  expect((await gated.good("workspace", "list")).stdout).toContain("gate workspace create");
  expect((await gated.good("workspace", "create", "Web shop", "--id", "shop")).stdout)
    .toBe("Created shop; next: gate workspace add-project shop <path>\n");
  await gated.good("workspace", "add-project", "shop", ".");
  expect((await gated.good("workspace", "add-project", "shop", "../api")).stdout)
    .toBe("shop: web, api\n");
  expect(await gated.json("workspace", "list", "--json"))
    .toMatchObject([{ id: "shop", name: "Web shop", project_ids: ["web", "api"] }]);
  expect((await gated.good("workspace", "show", "shop")).stdout)
    .toMatch(/^shop: Web shop, web, api\n {2}api {2}0 held/);
  const started = await gated.good("workspace", "start", "shop", "--no-open");
  const link = started.stdout.trim();
  expect(link).toMatch(/^http:\/\/localhost:\d+\/login\?code=[\w-]+&workspace=shop$/);
  const login = await fetch(link, { redirect: "manual" });
  expect(login.headers.get("location")).toMatch(/^\/\?workspace=shop#key=[\w-]{43}$/);
});

test("pending --workspace lists only held actions of the workspace", async () => {
  await gated.good("workspace", "create", "Empty", "--id", "empty");
  expect(await gated.json("pending", "--workspace", "shop", "--json"))
    .toMatchObject([{ id: held }]);
  expect(await gated.json("pending", "--workspace", "empty", "--json")).toEqual([]);
});

test("prompt counts held actions in all projects", async () => {
  expect((await gated.good("prompt")).stdout).toBe("gate:1\n");
  expect(await gated.json("prompt", "--json")).toEqual({ running: true, pending: 1 });
});

test("workspace start starts the daemon", async () => {
  await gated.good("daemon", "stop");
  const { stdout } = await gated.good("workspace", "start", "shop", "--no-open");
  expect(stdout).toContain("&workspace=shop");
  expect(await gated.json("daemon", "status", "--json")).toMatchObject({ healthy: true });
});

test("remove-project takes an id or a folder, and workspace remove takes an id", async () => {
  expect((await gated.good("workspace", "remove-project", "shop", "../api")).stdout)
    .toBe("shop: web\n");
  expect((await gated.good("workspace", "remove-project", "shop", "web")).stdout)
    .toBe("shop: no project yet\n");
  await gated.good("workspace", "remove", "shop");
  await gated.good("workspace", "remove", "empty");
  expect(await gated.json("workspace", "list", "--json")).toEqual([]);
});

test.each([
  [["create", "x"], 64, "required option '--id <id>' not specified"],
  [["create", "x", "--id", "../x"], 64, 'Cannot use the id "../x"'],
  [["create", "\u0007", "--id", "x"], 1, "visible characters"],
  [["start", "none"], 1, 'Cannot find workspace "none": there is none\n  try: gate workspace list'],
  [["show", "none"], 1, 'Cannot find workspace "none"'],
  [["remove", "none"], 1, 'Cannot find workspace "none"'],
  [["add-project", "none", "."], 1, 'Cannot find workspace "none"'],
  [["add-projet", "none", "."], 64, "Did you mean add-project?"],
])("gate workspace %j exits with %i", async (args, code, hint) => {
  const ended = await gated.terminal.run(["workspace", ...args]);
  expect(ended).toMatchObject({ code, stdout: "" });
  expect(ended.stderr).toContain(hint);
});

test("policy lets an agent list workspaces, but not create or start them", async () => {
  const effect = async (command: string) =>
    (await gated.terminal.run(["policy", "test", "--command", command, "--json"])).stdout;
  for (const verb of ["create x --id y", "start shop", "add-project shop .", "remove shop"]) {
    expect(await effect(`gate workspace ${verb}`)).toContain('"effect":"deny"');
  }
  expect(await effect("gate workspace list")).not.toContain('"effect":"deny"');
});
