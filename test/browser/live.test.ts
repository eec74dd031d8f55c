import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

describe("live", () => {
  test("a new action is announced and moves nothing on the page", async () => {
    await stage.hold("reading.ts", "const reading = true;\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/reading.ts");
    const places = () =>
      page.evaluate(() =>
        [".headline", ".diff", ".queue-row", ".decision"].map((selector) =>
          JSON.stringify(document.querySelector(selector)!.getBoundingClientRect())
        )
      );
    await page.getByText("const reading = true;").waitFor();
    const before = await places();
    await stage.hold("arrives.ts", "new\n");
    await page.locator(".queue-row", { hasText: "arrives.ts" }).waitFor();
    expect(await places()).toEqual(before);
    await until(
      "it is said",
      async () =>
        (await page.getByRole("status").allTextContents()).join().includes(
          "New: Write src/arrives.ts",
        ),
    );
    await headline(page, "Write 1 line to src/reading.ts");
  });

  test("an action that another person reviews keeps its place until the selection changes", async () => {
    const gone = await stage.hold("gone.ts", "a\n");
    await stage.hold("stays.ts", "b\n");
    const page = await stage.page();
    // A key that is pressed before the queue is on the page selects nothing.
    await headline(page, "Write 1 line to src/gone.ts");
    await page.keyboard.press("j");
    await headline(page, "Write 1 line to src/stays.ts");
    await stage.api("POST", `/api/actions/${gone.id}/approve`, {});
    const row = page.locator(".queue-row", { hasText: "gone.ts" });
    await row.getByText("decided elsewhere").waitFor();
    await stage.hold("later.ts", "c\n");
    await page.locator(".queue-row", { hasText: "later.ts" }).waitFor();
    await row.waitFor();
    await page.keyboard.press("j");
    await headline(page, "Write 1 line to src/later.ts");
    await until("the card is gone", async () => await row.count() === 0);
  });

  test("the footer shows a lost connection, and after a restart the page needs a new key", async () => {
    const page = await stage.page();
    await page.locator(".live-live").waitFor();
    await stage.stop();
    await page.locator(".live-offline").waitFor();
    await page.getByText("The daemon does not answer. This page").waitFor();
    // Without a connection the page must not say that no action is held.
    await page.getByText("The queue is not available").waitFor();
    expect(await page.getByText("No action is held").count()).toBe(0);
    expect(await page.getByText("The queue is empty").count()).toBe(0);
    await stage.start();
    // The keys of pages end with the daemon, because another program can take its port.
    await page.getByRole("heading", { name: "The daemon was restarted, or another" }).waitFor();
    await stage.hold("meanwhile.ts", "x\n");
    const { path } = await stage.api("POST", "/api/auth/login-code", {});
    await page.goto(`${stage.gate.url}${path}`);
    await page.locator(".live-live").waitFor();
    await headline(page, "Write 1 line to src/meanwhile.ts");
  });

  test("after a restart the page keeps what it had and what was typed, and a login elsewhere revives it", async () => {
    const { id } = await stage.hold("typed.ts", "const typed = true;\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/typed.ts");
    await page.getByText("const typed").waitFor();
    await settled(page);
    await page.keyboard.press("r");
    const reason = page.getByLabel("Reason for the agent");
    await reason.fill("use src/lib");
    await stage.stop();
    await stage.start();
    await page.getByRole("heading", { name: "The daemon was restarted, or another" }).waitFor();
    await page.getByText("Do not type a passphrase here").waitFor();
    await page.getByText("const typed").waitFor();
    await page.locator(".live-offline").waitFor();
    await reason.press("Enter");
    await page.getByText("The daemon does not answer. Nothing was decided.").waitFor();
    expect((await stage.detail(id)).status).toBe("pending");
    // A page whose code is not loaded yet asks nobody for it.
    await page.getByRole("link", { name: "Policy" }).click();
    await page.getByText("A part of this page could not be loaded").waitFor();
    await page.goBack();
    await headline(page, "Write 1 line to src/typed.ts");
    const { path } = await stage.api("POST", "/api/auth/login-code", {});
    const other = await page.context().newPage();
    await other.goto(`${stage.gate.url}${path}`);
    await page.bringToFront();
    await page.locator(".live-live").waitFor();
    expect(await page.getByText("Do not type a passphrase here").count()).toBe(0);
  });

  test("no decision is offered while the daemon does not answer", async () => {
    await stage.hold("kept.ts", "x\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/kept.ts");
    const approve = page.getByRole("button", { name: /^Approve/ });
    await page.locator(".live-live").waitFor();
    await stage.stop();
    await page.getByText("No decision can be made while the daemon").waitFor();
    expect(await approve.isDisabled()).toBe(true);
    for (const name of [/^Reject/, /^Edit/, /^Remember$/]) {
      expect(await page.getByRole("button", { name }).isDisabled(), String(name)).toBe(true);
    }
    const told = page.getByText("The daemon does not answer. Nothing was decided.");
    for (const key of ["a", "r", "e", "m"]) {
      await page.keyboard.press(key);
      await told.waitFor();
      expect(await page.locator("#reject-reason, .pane, dialog[open]").count(), key).toBe(0);
    }
    // A snoozed card stays in this browser.
    await page.keyboard.press("z");
    await page.getByText("Move it to the end of the queue").waitFor();
    await stage.start();
    const [held] = (await stage.api("GET", "/api/actions?project=my-app&status=pending")).items;
    expect(held.path).toBe("src/kept.ts");
  });

  test("a card of another project is reachable from all projects", async () => {
    await stage.hold("mine.ts", "a\n");
    await stage.hold("theirs.ts", "b\n", { project: "billing-api" });
    const page = await stage.page("/approvals?project=my-app");
    await headline(page, "Write 1 line to src/mine.ts");
    expect(await page.locator(".queue-row").count()).toBe(1);
    await page.getByRole("button", { name: "All projects" }).click();
    await page.locator(".queue-row", { hasText: "theirs.ts" }).click();
    await headline(page, "Write 1 line to src/theirs.ts");
    await page.goBack();
    await headline(page, "Write 1 line to src/mine.ts");
  });
});
