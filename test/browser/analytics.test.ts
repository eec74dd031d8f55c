import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGood, expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

const DAY_MS = 86_400_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "docs-site", "tools"]);
  for (const days of [9, 3, 0]) {
    stage.clock.ahead_ms = -days * DAY_MS;
    await stage.submit("write_file", { path: `free/a${days}.ts`, content: "x" });
    await stage.submit("write_file", { path: ".env", content: `K=${days}` }, { agent: HOSTILE });
    const held = await stage.hold(`h${days}.ts`, "y\n");
    stage.clock.ahead_ms += 90_000;
    const verb = days === 3 ? "reject" : "approve";
    await stage.api("POST", `/api/actions/${held.id}/${verb}`, {});
  }
  stage.clock.ahead_ms = 0;
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** The actions in the table that a mark has opened. */
async function listed(page: Page, count: number): Promise<void> {
  await page.getByRole("heading", { name: "Actions", level: 1 }).waitFor();
  await until(
    `${count} actions are listed`,
    async () => await page.locator("tbody .row-link").count() === count,
  );
}

test("every mark opens the actions behind it", async () => {
  const page = await stage.page("/approvals?project=my-app");
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  const marks: [name: RegExp, count: number][] = [
    [/^9\s*Submitted by agents/, 9],
    [/^3\s*Allowed by policy/, 3],
    [/^2\s*Approved by a person/, 2],
    [/^1\s*Rejected/, 1],
    [/^3\s*Blocked/, 3],
    [/: 3 decisions: 1 allowed by policy, 1 rejected, 1 blocked$/, 3],
    [/^1 min to 5 min/, 3],
    [/^\.env/, 3],
    [/^src\/\*\*/, 3],
    [/^claude-code/, 6],
  ];
  for (const [name, count] of marks) {
    await page.getByRole("heading", { name: "Decisions over time" }).waitFor();
    await page.getByRole("link", { name }).first().click();
    await listed(page, count);
    await page.goBack();
  }
  // The hours of the week together hold every action.
  const cells = page.locator(".heat a");
  await cells.first().waitFor();
  const counts = (await cells.allTextContents()).map(Number);
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(9);
  await cells.first().click();
  await listed(page, counts[0]!);
  expect(await page.locator(".filters").textContent()).toMatch(/day at \d\d:00 UTC/);
});

test("a drag over columns, dates and keys choose the days; each chart marks the pointed weekday", async () => {
  const page = await stage.page("/analytics?project=my-app");
  const columns = page.locator(".columns li");
  await columns.nth(30).waitFor();
  const box = async (at: number) => (await columns.nth(at).boundingBox())!;
  const [from, to] = [await box(22), await box(28)];
  await page.mouse.move(from.x + 3, from.y + 80);
  await page.mouse.down();
  await page.mouse.move(to.x + 3, to.y + 80, { steps: 5 });
  await page.locator(".column-chosen").nth(6).waitFor();
  await page.mouse.up();
  await page.waitForURL(/window=7d&to=/);
  await until("seven days are shown", async () => await columns.count() === 7);
  // Nine days ago and today are outside.
  await page.getByRole("link", { name: /^1\s*Allowed by policy/ }).waitFor();
  await page.getByRole("link", { name: /^1\s*Allowed by policy/ }).click();
  await listed(page, 1);
  await page.goBack();
  await until("seven days are shown again", async () => await columns.count() === 7);
  await columns.first().hover();
  await page.locator(".heat-pointed").waitFor();
  expect(await page.locator(".chart-told").textContent()).toMatch(/: \d+ decisions?/);
  await page.locator(".heat tbody tr").nth(2).hover();
  await page.locator(".column-pointed").first().waitFor();
  const before = page.url();
  await page.keyboard.press("[");
  await page.waitForURL((url) => url.href !== before);
  await page.getByRole("button", { name: "Later" }).click();
  await page.waitForURL(before);
  const day = new Date(Date.now() - 3 * DAY_MS).toISOString().slice(0, 10);
  await page.getByLabel("To", { exact: true }).fill(day);
  await page.getByLabel("From", { exact: true }).fill(day);
  // A day is shown by its hours.
  await page.waitForURL(/window=24h&to=/);
  await until("one day is shown", async () => await columns.count() === 48);
  await page.getByRole("link", { name: /^1\s*Rejected/ }).waitFor();
  await page.getByRole("button", { name: "30 days" }).click();
  await until("all days are shown", async () => await columns.count() === 31);
});

test("the time is chosen by button, by key and by date, and is part of the address", async () => {
  const page = await stage.page("/analytics?project=my-app");
  const blocked = page.getByRole("link", { name: /Blocked$/ }).first();
  await page.getByRole("button", { name: "7 days" }).click();
  await page.waitForURL(/window=7d/);
  await until(
    "a week is shown",
    async () => (await blocked.textContent())?.startsWith("2") === true,
  );
  await page.keyboard.press("-");
  await page.waitForURL(/window=24h/);
  await until(
    "a day is shown",
    async () => (await blocked.textContent())?.startsWith("1") === true,
  );
  await page.keyboard.press("+");
  await page.waitForURL(/window=7d/);
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  await page.getByLabel("From", { exact: true }).fill(day(11));
  await page.waitForURL(/window=12d&to=/);
  await until("all is shown", async () => (await blocked.textContent())?.startsWith("3") === true);
  await page.reload();
  await until(
    "the dates are those of the address",
    async () => await page.getByLabel("From", { exact: true }).inputValue() === day(11),
  );
});

test("the last hour is shown by minutes, and a drag over them shows only these", async () => {
  stage.clock.ahead_ms = -20 * 60_000;
  const held = await stage.hold("late.ts", "y\n", { project: "tools" });
  await stage.submit("write_file", { path: "free/late.ts", content: "x" }, {
    project: "tools",
  });
  stage.clock.ahead_ms = -5 * 60_000;
  await stage.api("POST", `/api/actions/${held.id}/approve?project=tools`, {});
  stage.clock.ahead_ms = 0;
  const page = await stage.page("/analytics?project=tools&window=6h");
  await page.getByText("Each column is 5 minutes, in UTC").waitFor();
  await page.getByRole("button", { name: "1 hour" }).click();
  await page.waitForURL(/window=1h/);
  await page.getByText("Each column is 1 minute, in UTC").waitFor();
  const marks: [name: RegExp, count: number][] = [
    [/^2\s*Submitted by agents/, 2],
    [/^1\s*Allowed by policy/, 1],
    [/^1\s*Approved by a person/, 1],
    [/: 1 decision: 1 approved by a person$/, 1],
    [/^5 min to 15 min/, 0],
    [/^15 min to 1 h/, 1],
    [/^src\/\*\*/, 1],
    [/^reviewer/, 1],
    [/^claude-code/, 2],
  ];
  for (const [name, count] of marks) {
    await page.getByRole("heading", { name: "Attention" }).waitFor();
    const mark = page.getByRole("link", { name }).first();
    if (count === 0) {
      expect(await mark.count()).toBe(0);
      continue;
    }
    await mark.click();
    await listed(page, count);
    await page.goBack();
  }
  // The mark of one minute says when, in the zone of the chart.
  await page.getByRole("link", { name: /: 1 decision: 1 approved by a person$/ }).click();
  await listed(page, 1);
  expect(await page.locator(".filters").textContent())
    .toMatch(/decided since \w+ \d+, \d\d:\d\d, before \w+ \d+, \d\d:\d\d, UTC/);
  await page.goBack();
  const columns = page.locator(".columns li");
  await columns.nth(59).waitFor();
  // A new minute would move the columns away from the pointer.
  await page.waitForFunction(() => Date.now() % 60_000 < 50_000);
  // The approval is about 5 minutes old, the allowed write 20.
  const [from, to] = [
    (await columns.nth(45).boundingBox())!,
    (await columns.nth(59).boundingBox())!,
  ];
  await page.mouse.move(from.x + 2, from.y + 80);
  await page.mouse.down();
  await page.mouse.move(to.x + 2, to.y + 80, { steps: 5 });
  await page.locator(".column-chosen").nth(14).waitFor();
  await page.mouse.up();
  await page.waitForURL(/window=15m&to=/);
  await until("fifteen minutes are shown", async () => await columns.count() === 15);
  await page.getByRole("link", { name: /^0\s*Allowed by policy/ }).waitFor();
  await page.getByRole("link", { name: /^1\s*Approved by a person/ }).click();
  await listed(page, 1);
  await page.goBack();
  await until("the minutes are shown again", async () => await columns.count() === 15);
  const before = page.url();
  await page.keyboard.press("[");
  await page.waitForURL((url) => url.href !== before);
  await page.getByRole("link", { name: /^1\s*Allowed by policy/ }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: /^1\s*Allowed by policy/ }).waitFor();
  // Both ends can be typed.
  const ago = (minutes: number) =>
    page.evaluate((ms) => {
      const at = new Date(Date.now() - ms);
      return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    }, minutes * 60_000);
  await page.getByLabel("From", { exact: true }).fill(await ago(60));
  await page.getByLabel("To", { exact: true }).fill(await ago(10));
  await page.waitForURL(/window=50m&to=/);
  await page.getByRole("link", { name: /^0\s*Approved by a person/ }).waitFor();
  await page.getByRole("link", { name: /^1\s*Allowed by policy/ }).waitFor();
  await expectGood(page, "analytics_hours");
});

test("the numbers behind the columns are a table of links", async () => {
  const page = await stage.page("/analytics?project=my-app");
  await page.getByText("Show the numbers").click();
  const table = page.getByRole("region", { name: "Numbers of decisions" });
  expect(await table.locator("tbody tr").count()).toBe(3);
  await table.getByRole("link", { name: "1" }).first().click();
  await listed(page, 1);
});

test("rules are ordered by overruling, and a project's figures are its own", async () => {
  const page = await stage.page("/analytics?project=my-app");
  await page.getByRole("button", { name: "By overruling" }).click();
  const rules = page.getByRole("region", { name: "Decisions of rules" });
  await until(
    "the overruled rule is first",
    async () =>
      (await rules.locator("tbody tr").first().textContent())?.startsWith("src/**") === true,
  );
  expect(await rules.locator("tbody tr").first().locator("td").last().textContent()).toBe("2");
  await page.goto(`${stage.gate.url}/analytics?project=docs-site`);
  await page.getByText("Nothing happened in this time").waitFor();
  await page.goto(`${stage.gate.url}/analytics`);
  await page.getByRole("link", { name: /^3\s*Blocked/ }).click();
  await listed(page, 3);
});

test("new decisions change the figures; a failure keeps the old ones and says so", async () => {
  const page = await stage.page("/analytics?project=docs-site");
  await page.getByText("Nothing happened in this time").waitFor();
  await stage.submit("write_file", { path: ".env", content: "K=1\n" }, { project: "docs-site" });
  await page.getByRole("link", { name: /^1\s*Blocked/ }).waitFor();
  await page.route("**/api/analytics/**", (route) => route.abort());
  await stage.submit("write_file", { path: ".env", content: "K=2\n" }, { project: "docs-site" });
  await page.getByText("These figures are not fresh.").waitFor();
  await page.getByRole("link", { name: /^1\s*Blocked/ }).waitFor();
  await page.reload();
  await page.getByText("The figures could not be loaded").waitFor();
});

test("a streak of instant approvals is told with its person, whose decisions open", async () => {
  const page = await stage.page("/analytics?project=docs-site");
  for (let n = 0; n < 5; n++) {
    const held = await stage.submit("write_file", {
      path: `src/q${n}.ts`,
      content: "z".repeat(900),
    }, {
      project: "docs-site",
    });
    stage.clock.ahead_ms += 1_000;
    await stage.api("POST", `/api/actions/${held.id}/approve`, {});
  }
  const people = page.getByRole("region", { name: "Attention of people" });
  await people.getByRole("row", { name: /^reviewer/ }).waitFor();
  await page.getByText("5 approvals in a row took less time than reading them takes").waitFor();
  const cells = await people.locator("tbody tr").first().locator("td").allTextContents();
  expect(cells.map((text) => text.replace(/^[\d.]+ s$/, "time")))
    .toEqual(["5", "5", "time", "4,500", "5", "0", "5"]);
  await people.getByRole("link", { name: "reviewer" }).click();
  await listed(page, 5);
});

test(
  "axe finds nothing and nothing is too wide, in each theme and width",
  async () => {
    const page = await stage.page("/analytics?project=my-app");
    await page.getByText("Show the numbers").click();
    await expectGoodInEachLook(page, "analytics");
    const hostile = new URLSearchParams({ agent: HOSTILE, rule: `project/askPaths/${HOSTILE}` });
    await page.goto(`${stage.gate.url}/actions?project=my-app&${hostile}&waited_from=1&weekday=3`);
    await page.getByText("No action matches these filters").waitFor();
    await expectGoodInEachLook(page, "actions_filtered");
  },
);
