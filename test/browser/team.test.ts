import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { expectGoodInEachLook } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open(["my-app"]);
});
afterEach(async () => {
  expect(stage.complaints).toEqual([]);
  await stage.close();
});

const row = (page: Page, name: string) => page.getByRole("listitem", { name, exact: true });

test("an admin adds, changes, invites and removes a member by keyboard", async () => {
  const page = await stage.page("/approvals");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.getByRole("heading", { name: "Routes & team" }).waitFor();
  await page.getByText("You decide alone.").waitFor();
  await page.getByLabel("Name", { exact: true }).first().focus();
  await page.keyboard.type("Ann Miller");
  await page.keyboard.press("Tab");
  await page.keyboard.type("ann@example.org");
  await page.keyboard.press("Enter");
  await row(page, "Ann Miller").getByText("ann@example.org").waitFor();
  const members = async () => (await stage.api("GET", "/api/team/members")).items;
  expect(await members()).toMatchObject([{ id: "ann-miller", role: "reviewer" }]);
  await page.getByLabel("Role of Ann Miller").selectOption("admin");
  await until("the role has changed", async () => (await members())[0].role === "admin");

  await row(page, "Ann Miller").getByRole("button", { name: "Create a login link" }).click();
  const dialog = page.getByRole("dialog", { name: "Login link for Ann Miller" });
  const url = await dialog.getByLabel("The link").textContent();
  const ann = await stage.stranger();
  await ann.goto(url!);
  await ann.getByText(`port ${stage.gate.port}`).waitFor();
  await ann.goto(`${stage.gate.url}/team`);
  await row(ann, "Ann Miller").getByText("ann-miller, you").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await row(page, "Ann Miller").getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("button", { name: "Remove Ann Miller" }).click();
  await row(page, "Ann Miller").waitFor({ state: "detached" });
  expect(await members()).toEqual([]);
});

test("routes are added, tested and removed; a wrong one is refused in words", async () => {
  await stage.api("POST", "/api/team/members", { name: "Ann" });
  await stage.api("POST", "/api/team/members", { name: "Vic", role: "viewer" });
  const page = await stage.page("/team");
  await page.getByText("Add a route", { exact: true }).click();
  const form = page.getByRole("form", { name: "Add a route" });
  await form.getByLabel("Name").fill("Sources");
  await form.getByLabel("Paths, one pattern a line").fill("src/**\n\n docs/** ");
  await form.getByLabel("How many must approve").fill("2");
  expect(await form.getByRole("checkbox").count()).toBe(1);
  await form.getByLabel("Ann").check();
  await form.getByRole("button", { name: "Add the route" }).click();
  await page.getByText("its quorum is 2, and it has only 1 approvers").waitFor();
  await form.getByLabel("How many must approve").fill("1");
  await form.getByRole("button", { name: "Add the route" }).click();
  await row(page, "Sources").getByText("1 approval of Ann").waitFor();
  const routes = async () => (await stage.api("GET", "/api/approval-routes")).items;
  expect(await routes()).toMatchObject([{ match: { paths: ["src/**", "docs/**"] }, quorum: 1 }]);

  const tester = page.getByRole("form", { name: "Test the routes" });
  await tester.getByLabel("Path").fill("src/a.ts");
  await page.keyboard.press("Enter");
  await page.getByText("It takes route Sources: 1 approval of Ann.").waitFor();
  await tester.getByLabel("Path").fill("other.txt");
  await page.keyboard.press("Enter");
  await page.getByText("so one person approves").waitFor();
  await tester.getByRole("button", { name: "Run a command" }).click();
  await tester.getByLabel("Command").fill("rm src/a.ts");
  await page.keyboard.press("Enter");
  await page.getByText("takes route Sources").waitFor();

  // The part of a route that the form does not show stays as it is.
  const more = {
    expires_after_seconds: 3_600,
    match: { paths: ["src/**"], tools: ["write_file"] },
  };
  await stage.api("PATCH", "/api/approval-routes/sources", more);
  await row(page, "Sources").getByText("Expires after 1 hour").waitFor();
  await row(page, "Sources").getByRole("button", { name: "Change" }).click();
  const change = page.getByRole("form", { name: "Change Sources" });
  expect(await change.getByLabel("Paths, one pattern a line").inputValue()).toBe("src/**");
  await change.getByLabel("How many must approve").fill("9");
  await change.getByRole("button", { name: "Save the route" }).click();
  await page.getByText("its quorum is 9, and it has only 1 approvers").waitFor();
  await change.getByLabel("How many must approve").fill("1");
  await change.getByLabel("Name").fill("All sources");
  await change.getByLabel("Lowest risk").selectOption("high");
  await change.getByLabel("Paths, one pattern a line").fill("src/**\nlib/**");
  await change.getByRole("button", { name: "Save the route" }).click();
  await page.getByText("Route All sources is changed").waitFor();
  expect(await routes()).toMatchObject([{
    id: "sources",
    name: "All sources",
    approvers: { members: ["ann"], role: null },
    match: { paths: ["src/**", "lib/**"], tools: ["write_file"], min_risk: "high" },
    expires_after_seconds: 3_600,
  }]);
  await stage.api("PATCH", "/api/approval-routes/sources", { name: "Sources" });

  await row(page, "Sources").getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove Sources" }).click();
  await page.getByText("There is no route").waitFor();
  expect(await routes()).toEqual([]);
});

test("a viewer sees the team and can change nothing", async () => {
  await stage.api("POST", "/api/team/members", { name: "Vic", role: "viewer" });
  const { path } = await stage.api("POST", "/api/team/members/vic/login-code", {});
  const page = await stage.stranger();
  await page.goto(`${stage.gate.url}${path}`);
  await page.getByText(`port ${stage.gate.port}`).waitFor();
  await page.goto(`${stage.gate.url}/team`);
  await page.getByText("Only an admin can change what is here").waitFor();
  expect(await page.getByRole("button", { name: "Remove" }).count()).toBe(0);
  expect(await page.getByRole("form", { name: /^Add/ }).count()).toBe(0);
});

test("axe finds nothing and nothing is too wide, in each theme and width", async () => {
  const hostile = `<b>${"W".repeat(120)}</b>`;
  for (const name of ["Ann", hostile]) {
    await stage.api("POST", "/api/team/members", { name, id: `m${name.length}` });
  }
  const route = { name: "Production", approvers: { role: "reviewer" }, quorum: 2 };
  const match = { paths: ["deploy/**", "x".repeat(200)], min_risk: "high" };
  await stage.api("POST", "/api/approval-routes", { ...route, match });
  const page = await stage.page("/team");
  await row(page, "Production").waitFor();
  await page.getByText("Add a route", { exact: true }).click();
  await row(page, "Production").getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Path", { exact: true }).fill("deploy/a.yml");
  await page.getByLabel("Risk", { exact: true }).selectOption("high");
  await page.getByRole("button", { name: "Test the routes" }).click();
  await page.getByText("takes route Production").waitFor();
  await expectGoodInEachLook(page, "team");
});
