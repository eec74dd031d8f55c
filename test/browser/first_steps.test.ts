import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { expectGoodInEachLook } from "./rooms.ts";
import { headline, POLICIES, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open([]);
});
afterEach(async () => {
  expect(await stage.clear()).toEqual([]);
  await stage.close();
});

async function steps(page: Page): Promise<string[]> {
  return await page.locator(".first-steps li").evaluateAll((items) =>
    items.map((item) =>
      `${item.classList.contains("is-done") ? "done" : "open"}: ${
        item.querySelector("h3")!.textContent
      }`
    )
  );
}

test("from nothing to the first held action, each step is ticked when it is done", async () => {
  const page = await stage.page();
  await page.getByText("Your first held action").waitFor();
  expect(await steps(page)).toEqual([
    "done: Choose how you approve",
    "open: Put a project behind gate",
    "open: Connect your agent",
    "open: Let it work",
  ]);
  stage.write("gate.config.json", JSON.stringify({ id: "my-app", policies: POLICIES }));
  await stage.api("POST", "/api/hub/projects", { root: join(stage.folder, "my-app") });
  await page.locator(".is-done h3", { hasText: "Put a project behind gate" }).waitFor();
  await stage.api("POST", "/api/sessions?project=my-app", { agent: "claude-code" }, "agent");
  await page.locator(".is-done h3", { hasText: "Connect your agent" }).waitFor();
  expect(await page.locator("[aria-current=step] h3").textContent()).toBe("Let it work");
  const action = await stage.hold("first.ts", "1\n");
  await headline(page, "src/first.ts");
  await stage.api("POST", `/api/actions/${action.id}/reject?project=my-app`, { reason: "no" });
  await page.reload();
  await page.getByText("No action is held").waitFor();
  expect(await page.getByText("Your first held action").count()).toBe(0);
});

test("without a passphrase or passkey, the first step leads to their choice", async () => {
  await stage.close();
  stage = await Stage.open([], { proof: "none" });
  const page = await stage.page();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.locator("[aria-current=step] h3", { hasText: "Choose how you approve" }).waitFor();
  await page.getByRole("link", { name: "Choose in Settings" }).click();
  await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
});

test(
  "axe finds nothing and nothing is too wide, in each theme and width",
  async () => {
    await stage.addProject("my-app");
    const page = await stage.page("/approvals");
    await page.locator(".first-steps:visible").waitFor();
    await expectGoodInEachLook(page, "first-steps");
  },
);
