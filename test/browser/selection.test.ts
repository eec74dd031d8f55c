import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** Longer than a new card waits before it accepts a decision. */
const PAST_NEW_MS = 1_000;

/** Presses every key that decides, and waits as long as a decision takes. */
async function pressDecidingKeys(page: Page): Promise<void> {
  await page.waitForTimeout(PAST_NEW_MS);
  for (const key of ["a", "y", "Enter"]) await page.keyboard.press(key);
  await page.keyboard.press("Shift+A");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(PAST_NEW_MS / 2);
}

async function isHeld(...ids: string[]): Promise<boolean> {
  const statuses = await Promise.all(ids.map(async (id) => (await stage.detail(id)).status));
  return statuses.every((status) => status === "pending");
}

describe("a card that the list does not show", () => {
  test("a link with a filter that hides the card decides nothing and offers to show it", async () => {
    const hidden = await stage.hold("hidden.ts", "1\n");
    const page = await stage.page(`/approvals?id=${hidden.id}&q=nothing-like-it`);
    await page.getByText("The list does not show this action").waitFor();
    await pressDecidingKeys(page);
    expect(await isHeld(hidden.id)).toBe(true);
    await page.getByRole("button", { name: "Show it in the list" }).click();
    await headline(page, "Write 1 line to src/hidden.ts");
    await settled(page);
    await page.keyboard.press("a");
    await until("approved", async () => (await stage.detail(hidden.id)).status === "approved");
  });

  test("the selection follows a filter that is typed", async () => {
    const first = await stage.hold("first.ts", "1\n");
    const second = await stage.hold("second.ts", "2\n");
    const page = await stage.page(`/approvals?id=${first.id}`);
    await headline(page, "src/first.ts");
    await page.keyboard.press("/");
    await page.keyboard.type("second");
    await headline(page, "src/second.ts");
    await until("the address names no hidden card", () => !page.url().includes(first.id));
    await page.keyboard.press("Escape");
    await settled(page);
    await page.keyboard.press("a");
    await until("approved", async () => (await stage.detail(second.id)).status === "approved");
    expect(await isHeld(first.id)).toBe(true);
  });

  test("a filter that matches nothing leaves no card to decide", async () => {
    const only = await stage.hold("only.ts", "1\n");
    const page = await stage.page(`/approvals?id=${only.id}`);
    await headline(page, "src/only.ts");
    await page.keyboard.press("/");
    await page.keyboard.type("zzz");
    await page.keyboard.press("Escape");
    await page.getByText("No held action matches the filter").waitFor();
    expect(await page.locator(".decision").count()).toBe(0);
    await pressDecidingKeys(page);
    expect(await isHeld(only.id)).toBe(true);
  });

  test("a card of another project is not decided after the scope changes", async () => {
    const mine = await stage.hold("mine.ts", "1\n");
    const theirs = await stage.hold("theirs.ts", "1\n", { project: "billing-api" });
    const page = await stage.page(`/approvals?project=my-app&scope=all&id=${theirs.id}`);
    await headline(page, "src/theirs.ts");
    await page.getByRole("button", { name: "This project" }).click();
    await headline(page, "src/mine.ts");
    await settled(page);
    await page.keyboard.press("a");
    await until("approved", async () => (await stage.detail(mine.id)).status === "approved");
    await pressDecidingKeys(page);
    expect(await isHeld(theirs.id)).toBe(true);
  });

  test("a link whose scope leaves out the card decides nothing", async () => {
    const theirs = await stage.hold("theirs.ts", "1\n", { project: "billing-api" });
    const page = await stage.page(`/approvals?project=my-app&id=${theirs.id}`);
    await page.getByText("The list does not show this action").waitFor();
    await pressDecidingKeys(page);
    expect(await isHeld(theirs.id)).toBe(true);
    await page.getByRole("button", { name: "Show it in the list" }).click();
    await headline(page, "src/theirs.ts");
  });

  test("marked cards that the filter hides are not approved with the others", async () => {
    const first = await stage.hold("first.ts", "1\n");
    const second = await stage.hold("second.ts", "2\n");
    const page = await stage.page(`/approvals?id=${first.id}`);
    await headline(page, "src/first.ts");
    await settled(page);
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Decide on 1 marked" }).waitFor();
    await page.keyboard.press("j");
    await headline(page, "src/second.ts");
    await settled(page);
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Decide on 2 marked" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("second");
    await page.keyboard.press("Escape");
    await page.getByText("1 marked action is not in the list").waitFor();
    await page.getByRole("button", { name: "Decide on 1 marked" }).waitFor();
    await page.keyboard.press("Shift+A");
    await page.getByRole("button", { name: "Approve 1 action" }).click();
    await until("approved", async () => (await stage.detail(second.id)).status === "approved");
    await page.waitForTimeout(PAST_NEW_MS / 2);
    expect(await isHeld(first.id)).toBe(true);
  });

  test("a card that somebody else decides is not decided again", async () => {
    const gone = await stage.hold("gone.ts", "1\n");
    const next = await stage.hold("next.ts", "2\n");
    const page = await stage.page(`/approvals?id=${gone.id}`);
    await headline(page, "src/gone.ts");
    await stage.api("POST", `/api/actions/${gone.id}/reject?project=my-app`, {});
    await page.getByText("decided elsewhere").waitFor();
    await page.waitForTimeout(PAST_NEW_MS);
    await page.keyboard.press("a");
    await page.keyboard.press("Shift+A");
    await page.waitForTimeout(PAST_NEW_MS / 2);
    expect((await stage.detail(gone.id)).status).toBe("rejected");
    expect(await isHeld(next.id)).toBe(true);
  });

  test("no key reaches the card behind a dialog", async () => {
    const card = await stage.hold("behind.ts", "1\n");
    const page = await stage.page(`/approvals?id=${card.id}`);
    await headline(page, "src/behind.ts");
    await settled(page);
    for (const open of ["?", "Control+k", "Shift+M", "m"]) {
      await page.keyboard.press(open);
      await page.locator("dialog[open]").waitFor();
      // The focus leaves the dialog's field, as after a click on its text.
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await page.keyboard.press("a");
      await page.keyboard.press("Shift+A");
      await page.waitForTimeout(PAST_NEW_MS / 4);
      expect(await isHeld(card.id), open).toBe(true);
      await page.keyboard.press("Escape");
      await page.locator("dialog[open]").waitFor({ state: "detached" });
    }
  });

  test("a decision that ends late keeps the card and the filter chosen meanwhile", async () => {
    const first = await stage.hold("first.ts", "1\n");
    await stage.hold("second.ts", "2\n");
    const third = await stage.hold("third.ts", "3\n");
    const page = await stage.page(`/approvals?id=${first.id}`);
    await headline(page, "src/first.ts");
    await settled(page);
    let answer = () => {};
    const asked = new Promise<void>((resolve) => answer = resolve);
    await page.route("**/approve?*", async (route) => {
      await asked;
      await route.continue();
    });
    await page.keyboard.press("a");
    await page.getByText("src/third.ts").or(page.getByText("third.ts")).first().click();
    await headline(page, "src/third.ts");
    await page.keyboard.press("/");
    await page.keyboard.type("third");
    answer();
    await until("approved", async () => (await stage.detail(first.id)).status === "approved");
    await page.getByText("Approved: Write src/first.ts").first().waitFor();
    const address = new URL(page.url()).searchParams;
    expect([address.get("id"), address.get("q")]).toEqual([third.id, "third"]);
  });
});
