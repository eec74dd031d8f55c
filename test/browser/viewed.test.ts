import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { GATE_SHOTS } = globalThis.process.env;
const PATHS = [
  "free/api/routes/orders.ts",
  "free/api/routes/users.ts",
  "free/read.md",
  "free/z.ts",
];

let stage: Stage;
let session = "";
beforeAll(async () => {
  // With several projects a request that changes something names one.
  stage = await Stage.open(["my-app", "docs-site"]);
  for (const path of PATHS) session = (await write(path, `one\ntwo of ${path}\n`)).session_id;
});
afterEach(async () => {
  await unmark();
  expect(await stage.clear()).toEqual([]);
});
afterAll(() => stage?.close());

const write = (path: string, content: string) => stage.submit("write_file", { path, content });

async function open(options = {}): Promise<Page> {
  const page = await stage.page(`/sessions/${session}`, options);
  await page.getByText("4 files changed").waitFor();
  return page;
}

const viewed = (page: Page) => page.locator(".file-tree-file.file-viewed").allInnerTexts();
/** Takes all marks of the person away. */
async function unmark(): Promise<void> {
  const path = `/api/sessions/${session}/viewed?project=my-app`;
  for (const one of (await stage.api("GET", path)).items) {
    await stage.api("PUT", path, { ...one, is_viewed: false });
  }
}

const progress = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor();
const patches = (page: Page) => page.locator(".session-list .diff").count();

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    // deno-lint-ignore no-explicit-any
    return violations.map(({ id, nodes }: any) => `${id} ${nodes[0].html}`);
  });
}

test("the tree joins folders, counts lines, filters, and is one stop of the Tab key", async () => {
  const page = await open();
  const tree = page.getByRole("navigation", { name: "Changed files by folder" });
  expect(await tree.locator(".file-tree-folder").allInnerTexts()).toEqual(["free/", "api/routes/"]);
  expect((await tree.getByRole("button").allInnerTexts()).map((text) => text.split("\n")[0]))
    .toEqual(["orders.ts", "users.ts", "read.md", "z.ts"]);
  expect(await tree.getByText("+2", { exact: true }).count()).toBe(4);
  expect(await tree.locator("button[tabindex='0']").count()).toBe(1);
  await tree.getByRole("button", { name: "orders.ts" }).focus();
  for (const key of ["ArrowDown", "ArrowDown", "End", "ArrowUp"]) await page.keyboard.press(key);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("read.md");
  expect(new URL(page.url()).searchParams.get("action")).toBeNull();
  const filter = page.getByLabel("Filter the changed files");
  await filter.fill("users");
  await expect.poll(() => tree.getByRole("button").count()).toBe(1);
  await filter.fill("nothing");
  await page.getByText("No changed file has this in its path.").waitFor();
});

test("v marks one file after another, a reload keeps it, and a change takes it away", async () => {
  const page = await open();
  await progress(page, "0 of 4 viewed");
  await page.keyboard.press("v");
  await progress(page, "1 of 4 viewed");
  expect(await patches(page)).toBe(3);
  await page.keyboard.press("v");
  await progress(page, "2 of 4 viewed");
  await page.reload();
  await progress(page, "2 of 4 viewed");
  // Another browser of the same person has the marks, too.
  const other = await open();
  await progress(other, "2 of 4 viewed");
  expect((await viewed(page)).map((text) => text.split("\n")[0])).toEqual([
    "orders.ts",
    "users.ts",
  ]);
  await page.getByRole("button", { name: "Show", exact: true }).first().click();
  await expect.poll(() => patches(page)).toBe(3);
  await write(PATHS[1]!, "one\nthree\n");
  await progress(page, "1 of 4 viewed");
});

test.each([["light", 1440], ["dark", 1024], ["light", 390]] as const)(
  "the page is whole in %s at %d px",
  async (scheme, width) => {
    const page = await open({ scheme, width });
    await page.getByRole("button", { name: /^Viewed/ }).first().click();
    await progress(page, "1 of 4 viewed");
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    expect(await page.locator(".sidebar").evaluate((bar) => bar.getBoundingClientRect().bottom))
      .toBe(900);
    if (GATE_SHOTS) {
      mkdirSync(GATE_SHOTS, { recursive: true });
      await page.screenshot({ path: `${GATE_SHOTS}/viewed-${scheme}-${width}.png` });
    }
  },
);
