import { readFileSync } from "node:fs";
import type { Download, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGood, expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

let stage: Stage;
let blocked: string;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "docs-site"]);
  for (let n = 0; n < 20; n++) {
    await stage.submit("write_file", { path: `free/a${n}.ts`, content: `${n}\n` });
  }
  blocked = (await stage.submit("write_file", { path: ".env", content: "K=1\n" })).id;
  const rejected = await stage.hold("no.ts", "no\n", { agent: HOSTILE });
  await stage.api("POST", `/api/actions/${rejected.id}/reject`, { reason: HOSTILE });
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const rows = (page: Page) => page.locator(".audit-events > li");

test("the chain is verified by key, and the page tells what was checked", async () => {
  const page = await stage.page("/approvals?project=my-app");
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByText("Not checked yet").waitFor();
  const { events } = await stage.api("GET", "/api/audit/state?project=my-app");
  await page.keyboard.press("v");
  await page.getByText("Whole", { exact: true }).waitFor();
  await page.getByText(`${events} events`, { exact: false }).first().waitFor();
  await page.getByRole("button", { name: "Sign the head" }).click();
  await page.getByText(`Event ${events} is signed`).waitFor();
  await page.locator(".room-facts").getByText(`Event ${events}`).waitFor();
});

test("a check that runs shows how far it is; a damaged chain is named with its event", async () => {
  const page = await stage.page("/audit?project=docs-site");
  await page.getByRole("heading", { name: "The log is empty" }).waitFor();
  const state = await stage.api("GET", "/api/audit/state?project=docs-site");
  const check = {
    started_at: new Date().toISOString(),
    finished_at: null,
    checked: 1200,
    of: 9000,
  };
  let now: Record<string, unknown> = { ...state, events: 9000, check: { ...check, result: null } };
  await page.route("**/api/audit/state*", async (route) => {
    await route.fulfill({ response: await route.fetch(), json: now });
  });
  await page.reload();
  await page.getByText("1,200 of 9,000 events").waitFor();
  expect(await page.getByRole("progressbar").getAttribute("value")).toBe("1200");
  const result = { ...state, ok: false, events: 56, checkpoints: 0, head: null };
  const problem = { seq: 57, what: "its hash does not cover its content" };
  const ended = { ...check, finished_at: check.started_at, result: { ...result, problem } };
  now = { ...now, check: ended };
  await page.getByText("Changed or damaged").waitFor();
  await page.getByText("Event 57: its hash does not cover its content").waitFor();
  await expectGood(page, "audit_damaged");
});

test("events are filtered, opened by keyboard and lead to their action", async () => {
  const page = await stage.page("/audit?project=my-app");
  await rows(page).first().waitFor();
  expect(await rows(page).count()).toBe(50);
  await page.getByRole("link", { name: "Older" }).click();
  await page.waitForURL(/cursor=/);
  await until("older events are there", async () => await rows(page).count() < 50);
  await page.goBack();
  await until("the newest events are back", async () => await rows(page).count() === 50);
  await page.getByLabel("Kind of event").selectOption({ label: "Action rejected or blocked" });
  await until("two events match", async () => await rows(page).count() === 2);
  expect(page.url()).toContain("type=action.rejected");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const open = page.locator(".audit-events details[open]");
  await open.getByText("Action blocked").waitFor();
  await open.getByRole("link", { name: "Show its events" }).first().click();
  await page.waitForURL((url) => url.searchParams.get("action_id") === blocked);
  await page.getByRole("button", { name: /^action / }).waitFor();
  await until("one action's events are left", async () => await rows(page).count() === 2);
  await page.getByRole("link", { name: "Open the record" }).first().click();
  await page.waitForURL(new RegExp(`/actions/${blocked}`));
  await page.goto(`${stage.gate.url}/audit?project=my-app&to=2001-01-01`);
  await page.getByText("No event matches these filters").waitFor();
  await page.getByRole("link", { name: "Show every event" }).click();
  await rows(page).first().waitFor();
});

test("new events wait until they are asked for", async () => {
  const page = await stage.page("/audit?project=my-app");
  await rows(page).first().waitFor();
  const first = await rows(page).first().textContent();
  await stage.submit("write_file", { path: "free/new.ts", content: "1\n" });
  await page.getByRole("button", { name: /^Show \d new events/ }).waitFor();
  expect(await rows(page).first().textContent()).toBe(first);
  await page.keyboard.press(".");
  await until(
    "the new event is on top",
    async () => await rows(page).first().textContent() !== first,
  );
});

test("exports follow the filters; a bundle is the whole log and checks itself", async () => {
  const page = await stage.page("/audit?project=my-app&type=action.rejected");
  await rows(page).first().waitFor();
  const take = async (name: string): Promise<{ name: string; text: string }> => {
    const [download] = await Promise.all([
      page.waitForEvent("download") as Promise<Download>,
      page.getByRole("button", { name }).click(),
    ]);
    return {
      name: download.suggestedFilename(),
      text: readFileSync(await download.path(), "utf8"),
    };
  };
  const json = await take("Export JSON");
  expect(json.name).toMatch(/^gate-audit-my-app-[\d-]+\.json$/);
  const types = JSON.parse(json.text).events.map(({ type }: { type: string }) => type);
  expect(types).toEqual(["action.rejected", "action.rejected"]);
  const csv = await take("Export CSV");
  expect(csv.text.trim().split("\n").length).toBeGreaterThanOrEqual(3);
  const bundle = await take("Export a bundle");
  expect(bundle.name).toMatch(/\.html$/);
  const { events } = await stage.api("GET", "/api/audit/state?project=my-app");
  expect(bundle.text).toContain("gate-audit-bundle");
  expect(bundle.text).toContain(`"seq":${events},`);
});

test("an export that is refused says why, and one that is stopped leaves nothing", async () => {
  const page = await stage.page("/audit?project=my-app");
  await rows(page).first().waitFor();
  let go = () => {};
  const gone = new Promise<void>((resolve) => go = resolve);
  await page.route("**/api/audit/export*", async (route) => {
    await gone;
    await route.abort();
  });
  await page.getByRole("button", { name: "Export CSV" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  go();
  await page.getByRole("button", { name: "Export CSV" }).waitFor();
  expect(await page.locator(".toast").count()).toBe(0);
  await page.unroute("**/api/audit/export*");
  const problem = { type: "about:blank", title: "x", status: 503, code: "unavailable" };
  const detail = "Cannot export: event 7 is damaged; run: gate audit verify";
  await page.route("**/api/audit/export*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, status: 503, json: { ...problem, detail } });
  });
  await page.getByRole("button", { name: "Export CSV" }).click();
  await page.getByText(detail).waitFor();
});

test("all projects have a row each, which verifies its own chain", async () => {
  const page = await stage.page("/audit");
  const row = page.getByRole("listitem", { name: "my-app" });
  await row.getByRole("button", { name: /^Verify / }).click();
  await row.getByText("Whole", { exact: true }).waitFor();
  await row.getByRole("link", { name: "my-app" }).click();
  await page.waitForURL(/project=my-app/);
  await rows(page).first().waitFor();
});

test("a log that cannot be read says so, and is read again", async () => {
  const page = await stage.page();
  await page.route("**/api/audit/**", (route) => route.abort());
  await page.goto(`${stage.gate.url}/audit?project=my-app`);
  await page.getByText("The audit chain could not be read").waitFor();
  await page.getByText("The events could not be read").waitFor();
  await page.unroute("**/api/audit/**");
  await stage.submit("write_file", { path: "free/again.ts", content: "1\n" });
  await rows(page).first().waitFor();
});

test(
  "axe finds nothing and nothing is too wide, in each theme and width",
  async () => {
    const page = await stage.page("/audit?project=my-app");
    await rows(page).first().waitFor();
    await rows(page).first().locator("summary").click();
    await expectGoodInEachLook(page, "audit");
    await page.goto(`${stage.gate.url}/audit`);
    await page.getByRole("listitem", { name: "my-app" }).waitFor();
    await expectGoodInEachLook(page, "audit_all");
  },
);
