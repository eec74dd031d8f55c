import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGood, expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "shop-api", "shop-ui"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

async function listProjects(): Promise<{ id: string }[]> {
  return (await stage.api("GET", "/api/hub/projects")).items;
}

/** A folder with the config of a project that is not registered. */
function makeFolder(name: string): string {
  const root = join(stage.folder, name);
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id: name }));
  return root;
}

test("each project shows its folder, what is held, and leads to its pages", async () => {
  await stage.hold("a.ts", "1\n", { project: "shop-ui" });
  const page = await stage.page("/approvals");
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  const row = page.getByRole("listitem", { name: "shop-ui" });
  await row.getByText(join(stage.folder, "shop-ui")).waitFor();
  await row.getByText("reachable").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  expect(await page.evaluate(() => document.activeElement?.className)).toBe("project-name");
  await row.getByRole("link", { name: "policy" }).click();
  await page.waitForURL(/\/policy\?project=shop-ui/);
  await page.goBack();
  await row.getByRole("link", { name: "1 held" }).click();
  await page.locator(".queue-row", { hasText: "a.ts" }).waitFor();
  expect(new URL(page.url()).searchParams.get("project")).toBe("shop-ui");
});

test("a project is registered by its folder, waits its turn in the list, and is forgotten", async () => {
  const root = makeFolder("late-app");
  const page = await stage.page("/projects");
  const form = page.getByRole("form", { name: "Register a project" });
  await form.getByRole("textbox").fill(join(stage.folder, "nowhere"));
  await page.keyboard.press("Enter");
  await page.getByText("Cannot find the folder").waitFor();
  await form.getByRole("textbox").fill(root);
  await page.keyboard.press("Enter");
  await page.getByText("late-app is registered").waitFor();
  await page.getByRole("button", { name: "Show 1 new project" }).click();
  const row = page.getByRole("listitem", { name: "late-app" });
  await row.getByRole("button", { name: "Forget" }).click();
  await row.getByText("Its files and its records stay").waitFor();
  expect((await listProjects()).length).toBe(4);
  await row.getByRole("button", { name: "Forget late-app" }).click();
  await page.getByText("gate has forgotten late-app").waitFor();
  await row.getByText("not registered any more").waitFor();
  expect((await listProjects()).length).toBe(3);
  expect(existsSync(join(root, "gate.config.json"))).toBe(true);
});

test("a project with held actions is not forgotten, and the page says why", async () => {
  await stage.hold("b.ts", "1\n", { project: "shop-api" });
  const page = await stage.page("/projects");
  const row = page.getByRole("listitem", { name: "shop-api" });
  await row.getByRole("button", { name: "Forget" }).click();
  await row.getByRole("button", { name: "Forget shop-api" }).click();
  await page.getByText("it has unfinished actions").waitFor();
  expect((await listProjects()).length).toBe(3);
});

test("a workspace is created, filled, opened as a scope, and removed", async () => {
  const page = await stage.page("/projects");
  const form = page.getByRole("form", { name: "Create a workspace" });
  await form.getByRole("textbox").fill("Web shop");
  await form.getByText("web-shop").waitFor();
  await page.keyboard.press("Enter");
  const row = page.getByRole("listitem", { name: "Web shop" });
  await row.getByText("0 projects").waitFor();
  for (const name of ["shop-api", "shop-ui"]) {
    await row.getByLabel("Add a project to Web shop").selectOption({ label: name });
    await row.getByTitle(`Take ${name} out of this workspace`).waitFor();
  }
  const workspace = () => stage.api("GET", "/api/workspaces/web-shop");
  expect((await workspace()).project_ids).toEqual(["shop-api", "shop-ui"]);
  await row.getByTitle("Take shop-api out of this workspace").click();
  await until(
    "it has left",
    async () => (await workspace()).project_ids.join() === "shop-ui",
  );
  await row.getByRole("link", { name: "Web shop" }).click();
  await page.waitForURL(/workspace=web-shop/);
  await page.getByRole("link", { name: "Projects" }).click();
  await page.getByRole("listitem", { name: "shop-ui" }).first().waitFor();
  expect(await page.getByRole("listitem", { name: "my-app" }).count()).toBe(0);
  await row.getByRole("button", { name: "Remove" }).click();
  await row.getByRole("button", { name: "Remove Web shop" }).click();
  await row.waitFor({ state: "detached" });
  expect((await stage.api("GET", "/api/workspaces")).items).toEqual([]);
});

test("without a project the page says how to begin; without the daemon why nothing is shown", async () => {
  const empty = await Stage.open([]);
  try {
    const page = await empty.page("/projects");
    await page.getByText("No project is registered yet").waitFor();
    await page.getByText("There is no workspace").waitFor();
    await page.getByText("No problem is known").waitFor();
    await expectGood(page, "projects_none");
    expect(await empty.clear()).toEqual([]);
  } finally {
    await empty.close();
  }
  const page = await stage.page();
  await page.route("**/api/daemon/status", (route) => route.abort());
  await page.goto(`${stage.gate.url}/projects`);
  await page.getByText("The projects could not be read").waitFor();
});

test(
  "axe finds nothing and nothing is too wide, in each theme and width",
  async () => {
    const id = "set-of-looks";
    await stage.api("POST", "/api/workspaces", { id, name: `${"W".repeat(150)} <b>x</b>` });
    for (const name of ["shop-api", "shop-ui"]) {
      const root = join(stage.folder, name);
      await stage.api("POST", `/api/workspaces/${id}/projects`, { root });
    }
    const page = await stage.page("/projects");
    await page.getByRole("listitem", { name: "my-app" }).waitFor();
    await page.getByRole("form", { name: "Register a project" }).getByRole("textbox").fill(HOSTILE);
    await expectGoodInEachLook(page, "projects");
    await page.getByRole("button", { name: "Forget" }).first().click();
    await page.getByRole("heading", { name: "Workspaces" }).scrollIntoViewIfNeeded();
    await expectGoodInEachLook(page, "projects_ask");
    await stage.api("DELETE", `/api/workspaces/${id}`);
  },
);
