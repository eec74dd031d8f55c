import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** What the page asks for by the clock, whatever happens, and its stream of events. */
const BY_CLOCK = /^\/api\/(events|config|proof|auth\/prove-daemon)$/;

/** Counts the page's requests to the API that events may cause. */
function countRequests(page: Page): () => string[] {
  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/api/") && !BY_CLOCK.test(pathname)) asked.push(pathname);
  });
  return () => asked.splice(0);
}

describe("events", () => {
  test("100 allowed writes cost fewer than 20 requests on each page", async () => {
    const { id, session_id } = await stage.hold("held.ts", "1\n");
    const rounds = [
      { paths: ["/approvals", `/approvals?id=${id}`, "/actions", "/sessions"], agent: "writer" },
      { paths: [`/sessions/${session_id}`], agent: "claude-code" },
    ];
    for (const { paths, agent } of rounds) {
      const watched = await Promise.all(paths.map(async (path) => {
        const page = await stage.page(path);
        await page.locator(".live-live").waitFor();
        const requests = countRequests(page);
        // The page has read everything when it asks for nothing in a second.
        await page.waitForTimeout(1_000);
        await expect.poll(() => requests().length, { interval: 1_000 }).toBe(0);
        return { path, page, requests };
      }));
      const start = performance.now();
      const made = await Promise.all(
        Array.from(
          { length: 100 },
          (_, at) =>
            stage.submit("write_file", { path: `free/${at}.ts`, content: `${agent}\n` }, { agent }),
        ),
      );
      expect(
        made.every(({ status, decided_by }) => status === "approved" && decided_by === "policy"),
      )
        .toBe(true);
      // A page reads at a pace, so writes that take longer on a busy machine cost more requests.
      const parts = Math.max(1, (performance.now() - start) / 1_500);
      await watched[0]!.page.waitForTimeout(3_000);
      for (const { path, page, requests } of watched) {
        const asked = requests();
        expect(asked.length, `${path}: ${asked.join(" ")}`).toBeLessThan(20 * parts);
        await page.close();
      }
    }
  });

  test("the first card of a long queue needs the oldest actions only", async () => {
    const held = [];
    for (let at = 0; at < 45; at++) held.push(await stage.hold(`long-${at}.ts`, "1\n"));
    const page = await stage.page("/actions");
    const requests: string[] = [];
    let release = () => {};
    const released = new Promise<void>((done) => release = done);
    await page.route("**/api/global/approvals/pending*", async (route) => {
      await released;
      await route.continue();
    });
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(new URL("/approvals", page.url()).href);
    await headline(page, "long-0.ts");
    await page.getByText("45 held", { exact: true }).waitFor();
    await page.getByText("5 more actions held").waitFor();
    expect(requests).toContain("/api/global/actions");
    expect(await page.title()).toMatch(/^\(45\)/);
    release();
    await page.locator(".queue-row", { hasText: "long-44.ts" }).waitFor();
    await page.getByText("45 held", { exact: true }).waitFor();
    expect(await page.locator("[role=status].visually-hidden").textContent()).not.toContain("new");
    await page.close();
  });

  test("the list shows the last of many changes", async () => {
    const page = await stage.page();
    await page.locator(".live-live").waitFor();
    await Promise.all(Array.from({ length: 30 }, (_, at) => stage.hold(`many-${at}.ts`, "1\n")));
    await stage.hold("last-of-all.ts", "1\n");
    await page.locator(".queue-row", { hasText: "last-of-all.ts" }).waitFor();
    expect(await page.locator(".queue-row", { hasText: "many-" }).count()).toBe(30);
  });

  test("a new held action is on the page within a moment after a quiet time", async () => {
    const page = await stage.page();
    await page.locator(".live-live").waitFor();
    await page.waitForTimeout(1_000);
    const requests = countRequests(page);
    await stage.hold("soon.ts", "1\n");
    await headline(page, "src/soon.ts");
    await until("one load of the queue", () => {
      const asked = requests();
      return asked.filter((path) => path === "/api/global/approvals/pending").length <= 2;
    });
  });

  test("a project that is registered later appears in the switcher", async () => {
    const page = await stage.page();
    await page.locator(".live-live").waitFor();
    await stage.addProject("new-app");
    await stage.hold("new.ts", "1\n", { project: "new-app" });
    await headline(page, "src/new.ts");
    await page.locator(".switcher summary").click();
    await page.locator(".switcher .menu", { hasText: "new-app" }).waitFor();
  });
});
