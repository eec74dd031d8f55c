import { existsSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { headline, settled, Stage, until } from "./stage.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const rows = (page: Page) => page.locator(".queue-row .sentence").allTextContents();
const heads = (page: Page) => page.locator(".queue-group").allTextContents();
const order = (page: Page, expected: string[]) =>
  until(`the order is ${expected}`, async () => {
    const names = (await rows(page)).map((text) => /(\w+)\.\w+$|(npm.*)$/.exec(text.trim())?.[0]);
    return names.join() === expected.join();
  });
const currentRow = (page: Page) => page.locator('.queue-row[aria-current="true"]');

/** Two sessions, and one action with a much higher risk. */
async function holdSome() {
  const one = await stage.hold("one.ts", "1\n", { agent: "first" });
  const two = await stage.hold("two.ts", "2\n", { agent: "second" });
  const three = await stage.submit(
    "write_file",
    { path: ".github/workflows/ci.yml", content: "on: push\n" },
    { agent: "first" },
  );
  expect(three.risk.score).toBeGreaterThan(two.risk.score);
  return { one, two, three };
}

describe("the order of the queue", () => {
  test("goes by age or risk, is in the address, and back returns to the one before", async () => {
    await holdSome();
    const page = await stage.page("/approvals?project=my-app");
    await order(page, ["one.ts", "two.ts", "ci.yml"]);
    await page.getByRole("button", { name: "Riskiest" }).click();
    await order(page, ["ci.yml", "one.ts", "two.ts"]);
    expect(new URL(page.url()).searchParams.get("sort")).toBe("risk");
    await page.reload();
    await order(page, ["ci.yml", "one.ts", "two.ts"]);
    await page.goBack();
    await order(page, ["one.ts", "two.ts", "ci.yml"]);
  });

  test("puts a session together under one heading", async () => {
    await holdSome();
    const page = await stage.page("/approvals?project=my-app");
    await page.getByRole("button", { name: "By session" }).click();
    await order(page, ["one.ts", "ci.yml", "two.ts"]);
    await until("the groups have the titles of their sessions", async () => {
      const [first, second] = await heads(page);
      return /^Write src\/one.tsby first2 actions$/.test(first ?? "") &&
        /^Write src\/two.tsby second1 action$/.test(second ?? "");
    });
    await page.goBack();
    await order(page, ["one.ts", "two.ts", "ci.yml"]);
    expect(await heads(page)).toEqual([]);
  });

  test("what comes later moves no row until the person sorts it in", async () => {
    await stage.hold("one.ts", "1\n");
    const page = await stage.page("/approvals?project=my-app&sort=risk");
    await order(page, ["one.ts"]);
    await stage.submit("write_file", { path: ".github/workflows/ci.yml", content: "on: push\n" });
    await order(page, ["one.ts", "ci.yml"]);
    await page.getByRole("button", { name: "Sort the new ones" }).waitFor();
    await page.keyboard.press("j");
    await headline(page, "ci.yml");
    await order(page, ["one.ts", "ci.yml"]);
    await page.keyboard.press(".");
    await order(page, ["ci.yml", "one.ts"]);
    await headline(page, "ci.yml");
  });
});

describe("the keyboard in the list", () => {
  test("Tab stops once in it, the arrows move, and a decision moves the focus on", async () => {
    await holdSome();
    const page = await stage.page("/approvals?project=my-app");
    await order(page, ["one.ts", "two.ts", "ci.yml"]);
    expect(await page.locator('.queue-row[tabindex="0"]').count()).toBe(1);
    await page.getByRole("searchbox").focus();
    await page.keyboard.press("Tab");
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    expect(await focused()).toContain("one.ts");
    await page.keyboard.press("ArrowDown");
    await headline(page, "src/two.ts");
    await until("the focus is on the second row", async () => (await focused()).includes("two.ts"));
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest(".queue") === null)).toBe(
      true,
    );
    await page.keyboard.press("Shift+Tab");
    expect(await focused()).toContain("two.ts");
    await settled(page);
    await page.keyboard.press("a");
    await headline(page, "ci.yml");
    await until("the focus is on the next row", async () => (await focused()).includes("ci.yml"));
  });
});

describe("a snoozed card", () => {
  test("sinks to the end with its deadline, survives a reload, and comes back by key", async () => {
    await holdSome();
    const page = await stage.page("/approvals?project=my-app");
    await headline(page, "src/one.ts");
    await page.keyboard.press("z");
    await page.getByText("It expires in").waitFor();
    await page.keyboard.press("2");
    await headline(page, "src/two.ts");
    await order(page, ["two.ts", "ci.yml", "one.ts"]);
    await page.reload();
    await order(page, ["two.ts", "ci.yml", "one.ts"]);
    const row = page.locator(".queue-row", { hasText: "one.ts" });
    expect(await row.textContent()).toMatch(/expires in \d+ h/);
    expect(await heads(page)).toEqual([expect.stringMatching(/^Snoozed.*1 action$/)]);
    await row.click();
    await headline(page, "src/one.ts");
    await page.getByRole("button", { name: "Bring back" }).waitFor();
    await page.keyboard.press("z");
    await until("no heading", async () => (await heads(page)).length === 0);
    await currentRow(page).filter({ hasText: "one.ts" }).waitFor();
  });

  test("comes back when its time is over, and when it changes", async () => {
    await stage.hold("time.ts", "1\n");
    await stage.hold("change.ts", "1\n", { agent: "one" });
    const page = await stage.page("/approvals?project=my-app");
    await headline(page, "src/time.ts");
    await page.clock.install();
    for (const [name, key] of [["time", "1"], ["change", "4"]] as const) {
      await headline(page, `src/${name}.ts`);
      await page.keyboard.press("z");
      await page.getByText("Move it to the end").waitFor();
      await page.keyboard.press(key);
      await page.getByText("Move it to the end").waitFor({ state: "hidden" });
    }
    const asleep = async (text: string) =>
      await until(`asleep: ${text}`, async () => (await heads(page)).join().includes(text));
    await asleep("2 actions");
    await page.clock.fastForward("16:00");
    await asleep("1 action");
    await stage.hold("change.ts", "2\n", { agent: "two" });
    await until("awake", async () => (await heads(page)).length === 0);
  });

  test("the deadline wins: a card that expires soon is not snoozed", async () => {
    const held = await stage.hold("soon.ts", "1\n");
    const page = await stage.page("/approvals?project=my-app");
    await headline(page, "src/soon.ts");
    await page.clock.install({ time: Date.parse(held.expires_at!) - 5 * 60_000 });
    await page.keyboard.press("z");
    await page.keyboard.press("1");
    await page.getByText("The deadline is too near to snooze it").waitFor();
    expect(await heads(page)).toEqual([]);
  });
});

describe("u after a decision", () => {
  test("rolls an approved write back", async () => {
    const held = await stage.hold("written.ts", "1\n");
    const page = await stage.page("/approvals?project=my-app");
    await settled(page);
    await page.keyboard.press("a");
    await page.locator(".toast", { hasText: "Approved: Write src/written.ts" }).waitFor();
    expect(existsSync(`${stage.folder}/my-app/src/written.ts`)).toBe(true);
    await page.getByRole("button", { name: "Roll back" }).waitFor();
    await page.keyboard.press("u");
    await page.locator(".toast", { hasText: "Rolled back: Write src/written.ts" }).waitFor();
    expect(existsSync(`${stage.folder}/my-app/src/written.ts`)).toBe(false);
    expect((await stage.detail(held.id)).status).toBe("rolled_back");
    await page.keyboard.press("u");
    expect((await stage.detail(held.id)).status).toBe("rolled_back");
  });

  test("does not overwrite a later change, and says so", async () => {
    await stage.hold("later.ts", "1\n");
    const page = await stage.page("/approvals?project=my-app");
    await settled(page);
    await page.keyboard.press("a");
    await page.getByRole("button", { name: "Roll back" }).waitFor();
    const file = stage.write("src/later.ts", "by hand\n");
    await page.keyboard.press("u");
    await page.locator(".toast", { hasText: "Not rolled back: Write src/later.ts" }).waitFor();
    expect(existsSync(file)).toBe(true);
  });

  test("tells that a rejection and an approved command are final", async () => {
    await stage.hold("no.ts", "1\n");
    await stage.submit("run_command", { command: "npm publish" });
    const page = await stage.page("/approvals?project=my-app");
    await settled(page);
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Rejected: Write src/no.ts" }).waitFor();
    expect(await page.getByRole("button", { name: "Roll back" }).count()).toBe(0);
    await page.keyboard.press("u");
    await page.locator(".toast", { hasText: "A rejection is final" }).waitFor();
    await headline(page, "npm publish");
    await settled(page);
    await page.keyboard.press("a");
    await page.locator(".toast", { hasText: /pproved: Run npm publish/ }).waitFor();
    await page.keyboard.press("u");
    await page.locator(".toast", { hasText: "The agent runs the command" }).waitFor();
  });
});
