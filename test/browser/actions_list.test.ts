import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { testCaller } from "../helpers.ts";
import { expectGood, expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { headline, Stage, until } from "./stage.ts";

const ROWS = 450;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
  await plant(ROWS);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** Records so many actions of an earlier day; every 50th is critical. */
async function plant(count: number): Promise<void> {
  const { ledger, sessions } = await stage.daemon.projects.get("my-app");
  const { id: session } = await sessions.open({}, testCaller("agent"));
  const start = Date.now() - 86_400_000;
  const statements = Array.from({ length: count }, (_, at) => ({
    sql: `INSERT INTO actions (project_id, id, seq, root, session_id, agent, tool, path, status,
      execution, decision, risk, reversible, digest, created_at, decided_at, decided_by)
      VALUES ('my-app', ?, ?, '', ?, 'codex', 'write_file', ?, 'approved', 'succeeded', ?, ?, 0, '',
        ?, ?, 'policy')`,
    args: [
      ...[idOf(start + at), at + 1, session, `src/part/file-${at}.ts`],
      JSON.stringify({ effect: "allow", rule: null, reason: "Allowed by default" }),
      JSON.stringify({ score: 1, level: at % 50 === 7 ? "critical" : "low", factors: [] }),
      ...Array(2).fill(new Date(start + at).toISOString()),
    ],
  }));
  await ledger.commit({ statements, events: [] });
}

function idOf(time: number): string {
  const stamp = time.toString(16).padStart(12, "0");
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7000-8000-000000000000`;
}

/** The places of the drawn rows in the list, from 1. */
function drawn(page: Page): Promise<number[]> {
  return page.locator("tbody tr[aria-rowindex]").evaluateAll((rows) =>
    rows.map((row) => Number(row.getAttribute("aria-rowindex")) - 1)
  );
}

function scrollTo(page: Page, y: number): Promise<void> {
  return page.locator("main").evaluate((main, top) => void (main.scrollTop = top), y);
}

const row = (page: Page, at: number) => page.locator(".row-link", { hasText: `/file-${at}.ts` });

function hasFocus(page: Page, at: number): Promise<boolean> {
  return row(page, at).evaluate((link) => link === document.activeElement);
}

/** Scrolls down until the oldest action is there. */
async function scrollToEnd(page: Page): Promise<void> {
  await until("the oldest action is drawn", async () => {
    await scrollTo(page, 1e9);
    return await row(page, 0).count() === 1;
  });
}

describe("a long list", () => {
  test("draws only the rows around the window, and loads the others as they come", async () => {
    const page = await stage.page("/actions?project=my-app");
    await row(page, ROWS - 1).waitFor();
    expect((await drawn(page)).length).toBeLessThan(100);
    expect(await page.locator(".actions-table").getAttribute("aria-rowcount")).toBe("-1");
    await scrollToEnd(page);
    const places = await drawn(page);
    expect(places.length).toBeLessThan(100);
    expect(places.at(-1)).toBe(ROWS);
    expect(await page.locator(".actions-table").getAttribute("aria-rowcount")).toBe(`${ROWS + 1}`);
    await scrollTo(page, 0);
    await row(page, ROWS - 1).waitFor();
    expect((await drawn(page))[0]).toBe(1);
  });

  test("the keyboard reaches every row; the list is one stop of the Tab key", async () => {
    const page = await stage.page("/actions?project=my-app");
    await row(page, ROWS - 1).waitFor();
    expect(await page.locator('.row-link[tabindex="0"]').count()).toBe(1);
    for (let at = 0; at < 60; at++) await page.keyboard.press(at % 2 ? "j" : "ArrowDown");
    await until("row 60 has the focus", () => hasFocus(page, ROWS - 60));
    const box = await row(page, ROWS - 60).boundingBox();
    expect(box!.y).toBeGreaterThan(0);
    expect(box!.y + box!.height).toBeLessThanOrEqual(900);
    // A row with the focus stays when the window leaves it.
    await scrollTo(page, 0);
    await row(page, ROWS - 1).waitFor();
    expect(await hasFocus(page, ROWS - 60)).toBe(true);
    await page.keyboard.press("k");
    await until("the focus goes on from there", () => hasFocus(page, ROWS - 59));
    await page.keyboard.press("Enter");
    await headline(page, `file-${ROWS - 59}.ts`);
  });

  test("the way back finds a row far down, also after the record was loaded again", async () => {
    const page = await stage.page("/actions?project=my-app");
    await row(page, ROWS - 1).waitFor();
    await scrollToEnd(page);
    await row(page, 3).click();
    await headline(page, "file-3.ts");
    await page.goBack();
    await until("the row has the focus", () => hasFocus(page, 3));
    await page.keyboard.press("Enter");
    await headline(page, "file-3.ts");
    await page.reload();
    await headline(page, "file-3.ts");
    await page.keyboard.press("b");
    await until("the row has the focus again", () => hasFocus(page, 3));
    await page.getByRole("link", { name: "Show the newest" }).click();
    await row(page, ROWS - 1).waitFor();
  });

  test("an action that no longer fits the filters says so, and the rows keep their places", async () => {
    const { id } = await stage.hold("waits.ts", "1\n");
    await stage.hold("waits-too.ts", "1\n");
    const page = await stage.page("/actions?status=pending");
    const waits = page.locator("tbody tr", { hasText: "waits.ts" });
    await waits.getByText("held").waitFor();
    await stage.api("POST", `/api/actions/${id}/reject`, {});
    await waits.getByText("changed").waitFor();
    expect(await page.locator(".row-link").count()).toBe(2);
  });
});

test("the heads sort by decision, outcome, risk and time, and the address holds the order", async () => {
  const held = await stage.hold("held.ts", "1\n", { project: "billing-api" });
  const page = await stage.page("/actions");
  await row(page, ROWS - 1).waitFor();
  const first = page.locator("tbody .row-link").first();
  await page.getByRole("link", { name: "Risk" }).click();
  await page.waitForURL(/order=risk/);
  await page.locator('th[aria-sort="other"]', { hasText: "Risk" }).waitFor();
  await until(
    "critical ones are first",
    async () => /\/file-407\.ts$/.test(await first.textContent() ?? ""),
  );
  const levels = await page.locator("tbody .cell-risk").allTextContents();
  expect(levels.slice(0, 9)).toEqual(Array(9).fill("critical"));
  await page.getByRole("link", { name: "Decision" }).click();
  await page.waitForURL(/order=status/);
  await until("held ones are first", async () => await first.getAttribute("data-id") === held.id);
  await page.getByRole("link", { name: "Submitted" }).click();
  await page.getByRole("link", { name: "Submitted" }).click();
  await page.waitForURL(/order=oldest/);
  await until(
    "the oldest is first",
    async () => (await first.textContent())!.endsWith("/file-0.ts"),
  );
  await page.goBack();
  await page.goBack();
  await page.locator('th[aria-sort="other"]', { hasText: "Decision" }).waitFor();
});

test("filters are saved under a name, stay in the browser, and are forgotten", async () => {
  const page = await stage.page("/actions");
  await row(page, ROWS - 1).waitFor();
  expect(await page.getByRole("button", { name: "Save these filters" }).count()).toBe(0);
  await page.getByLabel("Kind").selectOption("write_file");
  await page.waitForURL(/tool=write_file/);
  await page.getByRole("link", { name: "Risk" }).click();
  await page.getByRole("button", { name: "Save these filters" }).click();
  await page.getByLabel("Name").fill(`Risky ${HOSTILE}`.slice(0, 60));
  await page.keyboard.press("Enter");
  await page.goto(`${stage.gate.url}/actions`);
  const chip = page.getByRole("group", { name: "Saved filters" }).getByRole("link");
  await chip.click();
  await page.waitForURL(/order=risk/);
  expect(await page.getByLabel("Kind").inputValue()).toBe("write_file");
  expect(await chip.getAttribute("aria-current")).toBe("true");
  await expectGood(page, "saved-filters");
  await page.getByRole("button", { name: /^Forget/ }).click();
  await until("it is forgotten", async () => await chip.count() === 0);
  await page.reload();
  await row(page, 407).waitFor();
  expect(await chip.count()).toBe(0);
});

test("the list is good in each theme and width", async () => {
  await stage.hold(`${"W".repeat(90)}.ts`, HOSTILE, { agent: HOSTILE.slice(0, 60) });
  await stage.submit("run_command", { command: `echo ${HOSTILE}` }, { project: "billing-api" });
  await stage.submit("write_file", { path: "free/x.ts", content: "1\n" });
  await stage.submit("write_file", { path: ".env", content: "1\n" });
  const page = await stage.page("/actions");
  await row(page, ROWS - 1).waitFor();
  await expectGoodInEachLook(page, "actions", async () => {
    const heights = await page.locator("tbody tr[aria-rowindex]").evaluateAll((
      rows,
    ) => [...new Set(rows.map((one) => Math.round(one.getBoundingClientRect().height)))]);
    expect(heights.length).toBe(1);
  });
});
