import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { GATE_SHOTS } = globalThis.process.env;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const BEFORE = `import { read } from "./read.ts";

/** Adds the totals of all orders. */
export function total(orders: Order[]): number {
  let sum = 0;
  for (const order of orders) sum += order.price * 1.19; // with tax
  return sum;
}
`;
const AFTER = BEFORE.replace("let sum = 0;", "const rate = 1.19;\n  let sum = 0;")
  .replace("order.price * 1.19; // with tax", "order.price * rate; // with the tax")
  .replace("return sum;", "if (sum < 0) throw new Error(`below zero: ${sum}`);\n  return sum;");

/** What a reader sees of each row, without the numbers. */
const rowsOf = (page: Page) =>
  page.locator(".diff tbody td.line-text").evaluateAll((cells) =>
    cells.map((cell) => cell.textContent)
  );

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    // deno-lint-ignore no-explicit-any
    return violations.map(({ id, nodes }: any) => `${id} ${nodes[0].html}`);
  });
}

test.each(["light", "dark"] as const)("a diff has colours in the %s theme", async (scheme) => {
  stage.write("src/total.ts", BEFORE);
  const { id } = await stage.hold("total.ts", AFTER);
  const page = await stage.page(`/approvals?id=${id}`, { scheme });
  for (const mode of ["Unified", "Split"]) {
    await page.getByRole("radio", { name: mode }).or(page.getByRole("button", { name: mode }))
      .first().click();
    await page.locator(".diff .code-keyword", { hasText: "throw" }).waitFor();
    await page.locator(".diff .code-comment", { hasText: "// with" }).first().waitFor();
    expect(await page.locator(".diff mark").count()).toBeGreaterThan(0);
    const rows = await rowsOf(page);
    for (const line of [...BEFORE.split("\n"), ...AFTER.split("\n")]) {
      if (line !== "") expect(rows).toContain(line);
    }
    expect(await violations(page)).toEqual([]);
    if (GATE_SHOTS) {
      mkdirSync(GATE_SHOTS, { recursive: true });
      await page.screenshot({ path: `${GATE_SHOTS}/colours-${scheme}-${mode}.png` });
    }
  }
});

test("a line with a look-alike letter keeps its mark and has no colours", async () => {
  const { id } = await stage.hold("pay.ts", 'const pаypal = "x";\nconst other = "y";\n');
  const page = await stage.page(`/approvals?id=${id}`);
  await page.locator(".diff .code-keyword", { hasText: "const" }).waitFor();
  const rows = page.locator(".diff tbody tr");
  expect(await rows.nth(0).locator(".chip-mixed").count()).toBe(1);
  expect(await rows.nth(0).locator("[class^=code-]").count()).toBe(0);
  expect(await rows.nth(1).locator(".code-string").allTextContents()).toEqual(['"y"']);
});
