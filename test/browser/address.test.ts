import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** The parameters of the page's address. */
function addressOf(page: { url(): string }): Record<string, string> {
  return Object.fromEntries(new URL(page.url()).searchParams);
}

describe("the scope", () => {
  test("an action opened from all projects leaves the queue at all projects", async () => {
    await stage.hold("mine.ts", "1\n");
    await stage.hold("theirs.ts", "2\n", { project: "billing-api" });
    const page = await stage.page("/actions");
    await page.locator(".row-link", { hasText: "theirs.ts" }).click();
    await headline(page, "src/theirs.ts");
    expect(addressOf(page)["project"]).toBeUndefined();
    await page.locator(".switcher summary", { hasText: "All projects" }).waitFor();
    await page.getByRole("link", { name: "Approvals" }).click();
    await page.locator(".queue-row", { hasText: "mine.ts" }).waitFor();
    await page.locator(".queue-row", { hasText: "theirs.ts" }).waitFor();
  });

  test("a session opened from all projects leaves the scope, and so does its table", async () => {
    const { session_id } = await stage.hold("theirs.ts", "2\n", { project: "billing-api" });
    const page = await stage.page("/sessions");
    await page.locator(`.row-link[href*="${session_id}"]`).click();
    await page.getByText("The whole session").waitFor();
    expect(addressOf(page)["project"]).toBeUndefined();
    await page.getByRole("link", { name: "show as table" }).click();
    await page.locator(".row-link", { hasText: "theirs.ts" }).first().waitFor();
    expect(addressOf(page)).toEqual({ session_id });
  });

  test("a held action of another project opens in the queue of all, and the project stays", async () => {
    const { id } = await stage.hold("theirs.ts", "2\n", { project: "billing-api" });
    const page = await stage.page(`/actions/${id}?project=my-app`);
    await page.getByRole("link", { name: "Review it" }).click();
    await headline(page, "src/theirs.ts");
    await page.locator(".decision").waitFor();
    expect(addressOf(page)).toEqual({ project: "my-app", scope: "all", id });
  });
});

describe("the way back", () => {
  test("the record's link to the list and the browser's Back keep filters, row and focus", async () => {
    for (const name of ["one", "two", "three"]) await stage.hold(`${name}.ts`, "1\n");
    await stage.submit("run_command", { command: "echo filtered" });
    const page = await stage.page("/actions?status=pending&tool=write_file&q=src");
    const row = page.locator(".row-link", { hasText: "two.ts" });
    for (const back of ["link", "key", "browser"]) {
      await row.click();
      await headline(page, "src/two.ts");
      if (back === "link") {
        await page.getByRole("link", { name: "Actions", exact: true }).last().click();
      } else if (back === "key") await page.keyboard.press("b");
      else await page.goBack();
      await row.waitFor();
      const { status, tool, q } = addressOf(page);
      expect({ status, tool, q }, back).toEqual({
        status: "pending",
        tool: "write_file",
        q: "src",
      });
      await until(
        `the row has the focus after ${back}`,
        () => row.evaluate((element) => element === document.activeElement),
      );
      expect(await page.locator(".row-link", { hasText: "echo filtered" }).count()).toBe(0);
    }
  });

  test("a record reloads at its address with the way back", async () => {
    await stage.hold("one.ts", "1\n");
    const page = await stage.page("/actions?status=pending");
    await page.locator(".row-link", { hasText: "one.ts" }).first().click();
    await headline(page, "src/one.ts");
    await page.reload();
    await headline(page, "src/one.ts");
    await page.keyboard.press("b");
    await page.waitForURL(/\/actions\?.*status=pending/);
  });
});

describe("an address", () => {
  test("of a record needs no project, and a wrong one does no harm", async () => {
    const { id, session_id } = await stage.hold("theirs.ts", "2\n", { project: "billing-api" });
    const page = await stage.page(`/actions/${id}`);
    await headline(page, "src/theirs.ts");
    await page.goto(`${stage.gate.url}/actions/${id}?project=my-app`);
    await headline(page, "src/theirs.ts");
    for (const query of ["", "?project=my-app"]) {
      await page.goto(`${stage.gate.url}/sessions/${session_id}${query}`);
      await page.getByText("The whole session").waitFor();
    }
    await page.goto(`${stage.gate.url}/approvals?id=${id}`);
    await headline(page, "src/theirs.ts");
  });

  test("of a card far down the queue scrolls to its row", async () => {
    const many = Array.from({ length: 40 }, (_, at) => `row-${at}.ts`);
    let last = "";
    for (const name of many) last = (await stage.hold(name, "1\n")).id;
    const page = await stage.page(`/approvals?id=${last}`, { height: 600 });
    await headline(page, "src/row-39.ts");
    const row = page.locator('.queue-row[aria-current="true"]');
    await row.waitFor();
    await until("the row is in view", () =>
      row.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      }));
  });

  test("of an unknown session or action says so", async () => {
    const page = await stage.page("/sessions/019f0000-0000-7000-8000-000000000000");
    await page.getByText("Cannot find session").waitFor();
    await page.goto(`${stage.gate.url}/actions/019f0000-0000-7000-8000-000000000000`);
    await page.getByText("Cannot find action").waitFor();
  });

  test.each(["/nothing", "/approvals/%20x", "/a/b/c.html"])(
    "that is unknown, such as %s, shows a page with status 404",
    async (path) => {
      const page = await stage.page();
      const answer = await page.goto(stage.gate.url + path);
      expect(answer!.status()).toBe(404);
      await page.getByText("This page does not exist").waitFor();
      await page.getByRole("link", { name: "Show the approvals" }).click();
      await page.waitForURL(/\/approvals/);
      const stranger = await stage.stranger();
      expect((await stranger.goto(stage.gate.url + path))!.status()).toBe(404);
      await stranger.getByText("This page needs a key").waitFor();
    },
  );

  test("below a program's address stays a problem document", async () => {
    for (const path of ["/api/nothing", "/mcp/x", "/metrics/x", "/healthz/x", "/assets/none.js"]) {
      const headers = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
      const answer = await fetch(stage.gate.url + path, { headers });
      expect([401, 404], path).toContain(answer.status);
      expect(answer.headers.get("content-type"), path).toMatch(/application\/problem\+json/);
    }
    const plain = await fetch(`${stage.gate.url}/nothing`);
    expect(plain.status).toBe(401);
    await plain.body?.cancel();
  });
});
