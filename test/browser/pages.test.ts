import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, holdScripts, Stage, until } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let stage: Stage;
let paths: Record<string, string>;
beforeAll(async () => {
  stage = await Stage.open();
  paths = await fill();
});
afterEach(async () => {
  await stage.closePages();
  expect(stage.complaints.splice(0)).toEqual([]);
});
afterAll(() => stage?.close());

describe("in light and dark", () => {
  test("axe finds nothing on any page", async () => {
    const page = await stage.page();
    const found: string[] = [];
    for (const [name, path] of Object.entries(paths)) {
      await page.goto(stage.gate.url + path);
      await page.locator("h1").first().waitFor({ state: "attached" });
      found.push(...await axe(page, name));
    }
    expect(found).toEqual([]);
  }, 240_000);

  test("axe finds nothing in any step of a decision", async () => {
    const page = await stage.page();
    const found: string[] = [];
    await page.goto(stage.gate.url + paths["write"]!);
    // A step whose chunk still loads would take the next key.
    const steps = {
      r: page.locator(".decision textarea"),
      e: page.locator(".editor .cm-content"),
      m: page.getByRole("radio", { name: "Exactly this" }),
      "?": page.locator("dialog[open]"),
      "Control+k": page.getByRole("combobox"),
    };
    for (const [key, step] of Object.entries(steps)) {
      await headline(page, "Write 3 lines");
      await page.keyboard.press(key);
      await step.waitFor();
      found.push(...await axe(page, `after ${key}`));
      await page.keyboard.press("Escape");
      await step.waitFor({ state: "detached" });
    }
    await page.goto(stage.gate.url + paths["done"]!);
    await page.getByRole("heading", { name: "What happened" }).waitFor();
    await page.keyboard.press("u");
    await page.getByText("This is what changes on disk").waitFor();
    found.push(...await axe(page, "roll back"));
    await page.goto(stage.gate.url + paths["session"]!);
    await page.getByText("The whole session").waitFor();
    await page.keyboard.press("u");
    await page.getByText("would be rolled back").waitFor();
    found.push(...await axe(page, "roll back a session"));
    expect(found).toEqual([]);
  });

  test("axe finds nothing on the login page", async () => {
    const page = await stage.stranger();
    await page.goto(stage.gate.url);
    await page.getByText("This page needs a key").waitFor();
    expect(await axe(page, "login")).toEqual([]);
  });
});

test("no page is wider than the window, at any width", async () => {
  const page = await stage.page("/approvals", { height: 800 });
  for (const [name, path] of Object.entries(paths)) {
    await page.setViewportSize({ width: 360, height: 800 });
    await page.goto(stage.gate.url + path);
    await page.locator("h1").first().waitFor({ state: "attached" });
    await until(
      `every action is loaded on ${name}`,
      async () => await page.locator(".skeleton").count() === 0,
    );
    for (const width of [360, 720, 1024, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide, `${name} at ${width} px`).toBeLessThanOrEqual(0);
    }
  }
});

test("the first page weighs less than 45 KB, the first card 60, and neither holds a schema library", async () => {
  const page = await stage.stranger();
  const texts: Promise<string>[] = [];
  page.on("response", (response) => {
    if (!/\/assets\/.*\.js$/.test(response.url())) return;
    // A chunk that loads after the card may still be on its way when the page closes.
    texts.push(response.text().catch(() => ""));
  });
  await page.addInitScript(() => {
    new MutationObserver((_, watching) => {
      if (!document.querySelector(".headline")) return;
      performance.mark("card");
      watching.disconnect();
    }).observe(document, { subtree: true, childList: true });
  });
  const weigh = () =>
    page.evaluate(() => {
      const [card] = performance.getEntriesByName("card");
      const entries = [
        ...performance.getEntriesByType("navigation"),
        ...performance.getEntriesByType("resource"),
      ] as PerformanceResourceTiming[];
      return entries
        .filter(({ name, startTime }) =>
          !new URL(name).pathname.startsWith("/api/") && startTime < (card?.startTime ?? Infinity)
        )
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    });
  await page.goto(stage.gate.url);
  await page.getByText("This page needs a key").waitFor();
  const first = await weigh();
  expect(first).toBeGreaterThan(20_000);
  expect(first).toBeLessThan(45_000);
  const { path } = await stage.api("POST", "/api/auth/login-code", {});
  await page.goto("about:blank");
  await page.goto(`${stage.gate.url}${path}`);
  await headline(page, "Write 3 lines");
  const card = await weigh();
  expect(card).toBeGreaterThan(first);
  expect(card).toBeLessThan(60_000);
  const scripts = await Promise.all(texts);
  expect(scripts.filter((text) => text !== "").length).toBeGreaterThan(1);
  expect(scripts.some((text) => text.includes("ZodError"))).toBe(false);
});

test("on a small screen the queue and the card are two screens, and back works", async () => {
  const page = await stage.page("/approvals", { width: 360, height: 740 });
  await page.locator(".queue-row", { hasText: "held.ts" }).click();
  await headline(page, "Write 3 lines to src/held.ts");
  expect(await page.locator(".queue").isVisible()).toBe(false);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page.goBack();
  await page.locator(".queue-row", { hasText: "held.ts" }).waitFor();
  await page.goForward();
  await headline(page, "Write 3 lines to src/held.ts");
  await page.getByRole("button", { name: "Queue" }).click();
  await page.locator(".queue-row", { hasText: "held.ts" }).waitFor();
});

test("the URL holds the filters, and back and forward keep them", async () => {
  const page = await stage.page("/actions");
  await page.locator(".row-link").first().waitFor();
  const rows = page.locator(".row-link");
  const all = await rows.count();
  await page.getByLabel("Status").selectOption("approved");
  await page.waitForURL(/status=approved/);
  await page.getByLabel("Kind").selectOption("run_command");
  await page.waitForURL(/tool=run_command/);
  await page.getByText("No action matches these filters").waitFor();
  await page.goBack();
  await rows.first().waitFor();
  const approved = await rows.count();
  expect(approved).toBeLessThan(all);
  await rows.first().click();
  await page.waitForURL(/\/actions\/[0-9a-f-]{36}/);
  await page.goBack();
  await rows.first().waitFor();
  expect(page.url()).toContain("status=approved");
  expect(await page.getByLabel("Status").inputValue()).toBe("approved");
});

test("the keyboard moves through the table, and new actions wait until shown", async () => {
  const page = await stage.page("/actions");
  await page.locator(".row-link").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  const first = await page.locator(".row-link").first().textContent();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(first);
  await stage.submit("write_file", { path: "free/new.ts", content: "1\n" });
  await page.getByRole("button", { name: /^Show 1 new action/ }).waitFor();
  expect(await page.locator(".row-link").first().textContent()).toBe(first);
  await page.keyboard.press(".");
  await page.locator(".row-link", { hasText: "new.ts" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/actions\/[0-9a-f-]{36}/);
  await page.getByRole("heading", { name: "What happened" }).waitFor();
});

test("the palette and the shortcuts lead to every page", async () => {
  const page = await stage.page();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("sessions");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/sessions/);
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.waitForURL(/\/actions/);
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.waitForURL(/\/approvals/);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
});

test("text typed while the palette loads is in its field, not in a field below", async () => {
  const page = await stage.page();
  const filter = page.getByRole("searchbox");
  await filter.focus();
  const release = await holdScripts(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("sess?");
  await page.keyboard.press("Backspace");
  release();
  const field = page.getByRole("combobox");
  await field.waitFor();
  await page.keyboard.type("ions");
  expect(await field.inputValue()).toBe("sessions");
  expect(await filter.inputValue()).toBe("");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/sessions/);
});

test("the palette lists first what begins with the text", async () => {
  const page = await stage.page();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("pr");
  const first = page.getByRole("option", { selected: true });
  await first.filter({ hasText: "Projects" }).waitFor();
  await page.getByRole("option", { name: "Approve", exact: false }).first().waitFor();
});

test("the palette and the table search all actions", async () => {
  const page = await stage.page();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("not here");
  await page.getByRole("option", { name: "Search for “not here”" }).waitFor();
  await page.getByRole("option", { name: "Write src/no.ts rejected" }).click();
  await page.getByRole("heading", { name: "What happened" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("not here");
  await page.getByRole("option", { name: "Search for “not here”" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/actions\?q=not/);
  const found = page.locator("tbody .row-link");
  await until("the action is found by its reason", async () => await found.count() === 1);
  expect(await found.textContent()).toContain("no.ts");
  await page.keyboard.press("/");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("publish");
  await page.keyboard.press("Enter");
  await page.locator("tbody .row-link", { hasText: "npm publish --tag next" }).waitFor();
  expect(await found.count()).toBe(1);
});

test("the theme switches from system to light to dark and is saved", async () => {
  const page = await stage.page("/approvals", { scheme: "light" });
  const theme = () => page.evaluate(() => getComputedStyle(document.body).colorScheme);
  await page.getByRole("button", { name: /^Theme/ }).click();
  await page.getByRole("button", { name: "Theme: light" }).click();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  expect(await theme()).toBe("dark");
  await page.reload();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  expect(await theme()).toBe("dark");
});

/** The violations on the page in both themes. */
async function axe(page: Page, name: string): Promise<string[]> {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  const found: string[] = [];
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(
      ...await page.evaluate(async (where) => {
        // deno-lint-ignore no-explicit-any
        const { violations } = await (globalThis as any).axe.run();
        // deno-lint-ignore no-explicit-any
        return violations.flatMap((violation: any) =>
          // deno-lint-ignore no-explicit-any
          violation.nodes.map((node: any) => `${where}: ${violation.id}: ${node.target.join(" ")}`)
        );
      }, `${name} in ${colorScheme}`),
    );
  }
  return found;
}

// Submits one action of each kind, both held and executed.
async function fill(): Promise<Record<string, string>> {
  stage.write("src/held.ts", "const a = 1;\nconst b = 2;\nconst c = 3;\n");
  const held = await stage.hold("held.ts", "const a = 1;\nconst b = 20;\nconst c = 3;\n");
  const command = await stage.submit("run_command", {
    command: "npm publish --tag next | tee log",
  });
  const done = await stage.submit("write_file", { path: "free/done.ts", content: "export {};\n" });
  const blocked = await stage.submit("write_file", { path: ".env", content: "KEY=1\n" });
  const rejected = await stage.hold("no.ts", "no\n");
  await stage.api("POST", `/api/actions/${rejected.id}/reject`, { reason: "not here" });
  const remembered = await stage.hold("granted/a.ts", "a\n");
  const remember = { scope: "project", ttl_seconds: 3600, max_uses: 5, pattern: "src/granted/**" };
  await stage.api("POST", `/api/actions/${remembered.id}/approve`, { remember });
  return {
    write: `/approvals?id=${held.id}`,
    split: `/approvals?id=${held.id}&view=split`,
    command: `/approvals?id=${command.id}`,
    queue: "/approvals",
    remembered: "/approvals?remembered=live",
    actions: "/actions",
    done: `/actions/${done.id}`,
    blocked: `/actions/${blocked.id}`,
    rejected: `/actions/${rejected.id}`,
    nobody: "/actions/00000000-0000-7000-8000-000000000000",
    sessions: "/sessions",
    session: `/sessions/${done.session_id}`,
    agents: "/agents",
    team: "/team",
    policy: "/policy?input=rm%20-rf%20build%20%26%26%20npm%20test&list=blockedPaths&rule=free/**",
    remediation: "/remediation",
    analytics: "/analytics",
    audit: "/audit",
    projects: "/projects",
    settings: "/settings",
    step: `/sessions/${done.session_id}?action=${done.id}`,
    nowhere: "/nowhere",
  };
}
