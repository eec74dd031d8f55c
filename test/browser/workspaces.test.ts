import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "shop-api", "shop-ui"]);
  await stage.api("POST", "/api/workspaces", { id: "shop", name: "Web shop" });
  for (const id of ["shop-api", "shop-ui"]) {
    const root = join(stage.folder, id);
    await stage.api("POST", "/api/workspaces/shop/projects", { root });
  }
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

async function holdInEach(): Promise<void> {
  for (const project of ["my-app", "shop-api", "shop-ui"]) {
    await stage.hold(`${project}.ts`, "x\n", { project });
  }
}

test("a workspace's login link opens its projects, and every page keeps to them", async () => {
  await holdInEach();
  const page = await stage.stranger();
  const { path } = await stage.api("POST", "/api/auth/login-code", {});
  await page.goto(`${stage.gate.url}${path}&workspace=shop`);
  await page.getByText("2 held").first().waitFor();
  expect(new URL(page.url()).search).toBe("?workspace=shop");
  expect(new URL(page.url()).hash).toBe("");
  const queue = page.getByRole("region", { name: "Queue" });
  expect(await queue.getByText("my-app.ts").count()).toBe(0);
  await queue.getByText("shop-api.ts").waitFor();
  await page.getByRole("link", { name: "Actions" }).click();
  await page.getByRole("heading", { name: "Actions" }).waitFor();
  await page.locator("tbody tr").first().waitFor();
  await until(
    "the rows are those of the set",
    async () => (await page.locator("tbody tr").count()) === 2,
  );
  expect(await page.locator("tbody").innerText()).not.toContain("my-app");
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await until(
    "the sessions are those of the set",
    async () => (await page.locator("tbody tr").count()) === 2,
  );
  expect(new URL(page.url()).search).toBe("?workspace=shop");
});

test("the switcher leads into a workspace, out of it and to one of its projects", async () => {
  await holdInEach();
  const page = await stage.page();
  const menu = page.locator(".switcher");
  await menu.locator("summary").click();
  await menu.getByRole("link", { name: "Web shop" }).click();
  await until("the address names the workspace", () => page.url().includes("workspace=shop"));
  expect(await menu.locator("summary").innerText()).toContain("Web shop");
  await menu.locator("summary").click();
  expect(await menu.locator(".menu").innerText()).not.toContain("my-app");
  await menu.getByRole("link", { name: "shop-ui" }).click();
  await page.getByText("1 held").first().waitFor();
  expect(new URL(page.url()).searchParams.get("workspace")).toBe("shop");
  await menu.locator("summary").click();
  await menu.getByRole("link", { name: "Every project" }).click();
  await page.getByText("3 held").first().waitFor();
  expect(new URL(page.url()).search).toBe("");
});
