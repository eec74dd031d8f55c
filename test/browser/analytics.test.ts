import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGood, HOSTILE, LOOKS } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

const DAY_MS = 86_400_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "docs-site"]);
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

test("the time is chosen by button, by key and by number, and is part of the address", async () => {
  const page = await stage.page("/analytics?project=my-app");
  const blocked = page.getByRole("link", { name: /Blocked$/ }).first();
  await page.getByRole("button", { name: "7 days" }).click();
  await page.waitForURL(/window=7d/);
  await until(
    "a week is shown",
    async () => (await blocked.textContent())?.startsWith("2") === true,
  );
  await page.keyboard.press("-");
  await page.waitForURL(/window=1d/);
  await until(
    "a day is shown",
    async () => (await blocked.textContent())?.startsWith("1") === true,
  );
  await page.keyboard.press("+");
  await page.waitForURL(/window=7d/);
  await page.getByRole("spinbutton").fill("12");
  await page.keyboard.press("Enter");
  await page.waitForURL(/window=12d/);
  await until("all is shown", async () => (await blocked.textContent())?.startsWith("3") === true);
  await page.reload();
  expect(await page.getByRole("spinbutton").inputValue()).toBe("12");
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

test.each(LOOKS)(
  "axe finds nothing and nothing is too wide, in %s at %i px",
  async (scheme, width) => {
    const page = await stage.page("/analytics?project=my-app", { scheme, width, height: 900 });
    await page.getByText("Show the numbers").click();
    await expectGood(page, `analytics_${scheme}_${width}`);
    const hostile = new URLSearchParams({ agent: HOSTILE, rule: `project/askPaths/${HOSTILE}` });
    await page.goto(`${stage.gate.url}/actions?project=my-app&${hostile}&waited_from=1&weekday=3`);
    await page.getByText("No action matches these filters").waitFor();
    await expectGood(page, `actions_filtered_${scheme}_${width}`);
  },
);
