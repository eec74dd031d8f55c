import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { headline, settled, Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let stage: Stage;
beforeAll(async () => void (stage = await Stage.open()));
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

test.each([["light", 1440], ["dark", 1024], ["light", 390]] as const)(
  "a comment on a clicked line and one by keyboard reach the agent, in %s at %i px",
  async (scheme, width) => {
    const name = `a-${width}.ts`;
    stage.write(`src/${name}`, "one\ntwo\nthree\n");
    const { id } = await stage.hold(name, "one\n2\nthree\nfour\n");
    const page = await stage.page(`/approvals?id=${id}`, { scheme, width });
    await headline(page, name);
    await settled(page);
    const file = page.getByRole("region", { name: "Changes", exact: true });
    await file.locator("tr.line-add", { hasText: "four" }).locator("td.line-number").nth(1).click();
    expect(await file.getByLabel("Line", { exact: true }).inputValue()).toBe("4");
    await page.keyboard.type("why a fourth?");
    await page.keyboard.press("Enter");
    await file.getByRole("listitem").filter({ hasText: "why a fourth?" }).waitFor();
    const open = file.getByRole("button", { name: "Comment", exact: true });
    await open.focus();
    await open.press("Enter");
    expect(await file.getByLabel("Line", { exact: true }).inputValue()).toBe("2");
    await page.keyboard.type("spell \u202e it out");
    if (process.env["GATE_SHOTS"]) {
      const path = `${process.env["GATE_SHOTS"]}/comments-${scheme}-${width}.png`;
      await page.screenshot({ path });
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      // deno-lint-ignore no-explicit-any
      const { violations } = await (globalThis as any).axe.run(document);
      // deno-lint-ignore no-explicit-any
      return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
    });
    expect(found).toEqual([]);
    await page.keyboard.press("Enter");
    const spelt = file.getByRole("listitem").filter({ hasText: "spell [U+202E] it out" });
    await spelt.waitFor();
    await page.locator(".decision").getByRole("button", { name: /^Reject/ }).click();
    await page.getByText("Sends 2 comments on lines too").waitFor();
    await page.keyboard.type("nearly");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await stage.detail(id)).status).toBe("rejected");
    expect((await stage.detail(id)).reason).toBe(
      `nearly\nsrc/${name}:4 ("four"): why a fourth?\nsrc/${name}:2 ("2"): spell \u202e it out`,
    );
  },
);

test("Escape closes the form alone, and a removed comment is not sent", async () => {
  const { id } = await stage.hold("b.ts", "one\n");
  const page = await stage.page(`/approvals?id=${id}`);
  await headline(page, "b.ts");
  await settled(page);
  const file = page.getByRole("region", { name: "Changes", exact: true });
  const open = file.getByRole("button", { name: "Comment", exact: true });
  await open.click();
  await page.keyboard.press("Escape");
  await file.getByLabel("Comment for the agent").waitFor({ state: "detached" });
  await open.click();
  await page.keyboard.type("no");
  await page.keyboard.press("Enter");
  await file.getByRole("button", { name: "Remove" }).click();
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await stage.detail(id)).status).toBe("rejected");
  expect((await stage.detail(id)).reason).toBe(null);
});

test("a record offers no comment", async () => {
  const done = await stage.submit("write_file", { path: "free/c.ts", content: "1\n" });
  const page = await stage.page(`/actions/${done.id}`);
  await page.getByRole("region", { name: "Changes", exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Comment" }).count()).toBe(0);
});
