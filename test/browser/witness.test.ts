import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Stage, until } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(async () => {
  expect(stage.complaints).toEqual([]);
  await stage.close();
});

/** Logs the same browser in again, because a restart ends its key. */
async function logIn(page: Page): Promise<void> {
  const { path } = await stage.api("POST", "/api/auth/login-code", {});
  await page.goto(`${stage.gate.url}${path}`);
}

async function seen(page: Page): Promise<number> {
  const heads = await page.evaluate(() => localStorage.getItem("gate.heads"));
  return JSON.parse(heads ?? "{}")["my-app"]?.seq ?? 0;
}

const headNow = () => stage.api("GET", "/api/audit/head").then(({ seq }) => seq as number);

test("a browser that saw the ledger says loudly when it goes back or is rewritten", async () => {
  const home = join(stage.folder, "home");
  await stage.hold("first.ts", "one\n");
  await stage.stop();
  cpSync(home, `${home}.saved`, { recursive: true });
  await stage.start();
  const page = await stage.page();
  for (const name of ["second.ts", "third.ts"]) await stage.hold(name, "two\n");
  const last = await headNow();
  await until("the page saw the newest event", async () => await seen(page) === last);

  // A program that stops the daemon puts older files in place, as the registry and ledger were.
  await stage.stop();
  rmSync(home, { recursive: true });
  cpSync(`${home}.saved`, home, { recursive: true });
  await stage.start();
  await logIn(page);
  await page.getByText("The record of my-app lost events").waitFor();
  await page.getByText(`This browser saw event ${last}`).waitFor();
  expect(await seen(page)).toBe(last);

  // New events do not make it good: event `last` is another one now.
  while (await headNow() <= last) await stage.hold(`more${await headNow()}.ts`, "x\n");
  await page.getByText("The record of my-app was rewritten").waitFor();
  await page.reload();
  await page.getByText("The record of my-app was rewritten").waitFor();

  await page.getByRole("button", { name: "I know why" }).click();
  await page.getByText("The record of my-app").waitFor({ state: "detached" });
  await page.reload();
  await page.locator(".live-live").waitFor();
  await until("the page remembers the new head", async () => await seen(page) === await headNow());
  expect(await page.getByText("The record of my-app").count()).toBe(0);
});

test("a restart and new events cause no warning", async () => {
  const page = await stage.page();
  await stage.hold("a.ts", "a\n");
  await until("the page saw it", async () => await seen(page) === await headNow());
  await stage.stop();
  await stage.start();
  await stage.hold("b.ts", "b\n");
  await logIn(page);
  await until("the page saw it", async () => await seen(page) === await headNow());
  expect(await page.getByText("The record of").count()).toBe(0);
});
