import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** A folder for pictures of the rooms, for a person to look at. */
const PICTURES = process.env["GATE_ROOM_PICTURES"];

/** The looks in which each room is tested. */
const LOOKS = [
  ["light", 1440],
  ["dark", 1440],
  ["light", 1024],
  ["light", 390],
  ["dark", 390],
] as const;

/** Gives a page that is open already this theme and width. */
export async function wear(page: Page, scheme: "light" | "dark", width: number): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: page.viewportSize()!.height });
}

/** Expects a good page in each look, and what `more` expects. Ends in the first look. */
export async function expectGoodInEachLook(
  page: Page,
  name: string,
  more?: () => Promise<void>,
): Promise<void> {
  for (const [scheme, width] of LOOKS) {
    await wear(page, scheme, width);
    await expectGood(page, `${name}_${scheme}_${width}`);
    await more?.();
  }
  await wear(page, ...LOOKS[0]);
}

/** A text as an agent may send it: markup, hidden characters and no place to break. */
export const HOSTILE = `<img src=x onerror="window.pwned=1">\u202e\u200b${"W".repeat(90)}`;

/**
 * Expects a page without violations of axe, without anything wider than the window or the page's own
 * column, without text that is cut off on every side, and without harm by what it shows.
 */
export async function expectGood(page: Page, name: string): Promise<void> {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const main = document.querySelector("main")!;
    const invisible = /(?!\n|\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0]/u;
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    return {
      wide: Math.max(
        main.scrollWidth - main.clientWidth,
        document.documentElement.scrollWidth - innerWidth,
      ),
      invisible: document.body.innerText.match(invisible)?.[0] ?? null,
      pwned: "pwned" in globalThis,
      elements: document.querySelectorAll("#app script, #app img, #app iframe, [onerror]").length,
      styles: document.querySelectorAll("#app [style]").length,
      violations: violations.map((one: { id: string; nodes: { html: string }[] }) =>
        `${one.id}: ${one.nodes.map(({ html }) => html).slice(0, 3).join(" ")}`
      ),
    };
  });
  expect(found, name).toEqual({
    wide: 0,
    invisible: null,
    pwned: false,
    elements: 0,
    styles: 0,
    violations: [],
  });
  // A picture sets styles on the page.
  if (PICTURES) {
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`), caret: "initial" });
  }
}
