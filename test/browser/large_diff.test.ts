import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** Half of the 5,300 lines change, in two blocks whose lines pair one by one. */
function texts(): { before: string; after: string } {
  const lines = Array.from({ length: 5_300 }, (_, at) => `const value${at} = ${at};`);
  const changed = lines.map((line, at) => at >= 2_650 ? line.replace("const", "let") : line);
  return { before: `${lines.join("\n")}\n`, after: `${changed.join("\n")}\n` };
}

describe("a file of 5,300 lines of which half stay", () => {
  test("counts only what changes, and loads no editor", async () => {
    const { before, after } = texts();
    stage.write("src/large.ts", before);
    const { id } = await stage.hold("large.ts", after);
    const page = await stage.page();
    const loaded: Promise<string>[] = [];
    page.on("response", (answer) => {
      if (answer.request().resourceType() === "script") {
        // The address before this one loads scripts too, and its answers are gone.
        loaded.push(answer.text().catch(() => ""));
      }
    });
    await page.goto(`${stage.gate.url}/approvals?id=${id}`);
    await headline(page, "src/large.ts");
    await page.locator(".file-head", { hasText: "+2,650" }).filter({ hasText: "2,650" }).waitFor();
    const scripts = await Promise.all(loaded);
    expect(scripts.some((text) => text.includes("line-text"))).toBe(true);
    expect(scripts.some((text) => text.includes("cm-content"))).toBe(false);
  });

  test("shows each removed line beside the one that replaces it", async () => {
    const { before, after } = texts();
    stage.write("src/large.ts", before);
    const { id } = await stage.hold("large.ts", after);
    const page = await stage.page(`/approvals?id=${id}&view=split`);
    await headline(page, "src/large.ts");
    const rows = page.locator(".diff-split tbody tr");
    await rows.nth(1_000).waitFor({ state: "attached" });
    const pairs = await rows.evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll(".line-text")].map((cell) => cell.textContent))
    );
    const changed = pairs.filter(([left, right]) => left !== right);
    expect(changed.length).toBeGreaterThan(1_000);
    for (const [left, right] of changed) expect(right).toBe(left!.replace("const", "let"));
    // 2,650 rows of pairs, of which the first 1,500 rows with their context are on the page.
    const rest = (2_650 - changed.length) * 2;
    await page.getByText(`${rest.toLocaleString("en-US")} more lines not shown yet`).waitFor();
    await page.getByRole("button", { name: /Show the next/ }).click();
    await page.getByText("let value5299 = 5299;").waitFor({ state: "attached" });
  });
});
