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

/** Rejects an action with comments, as a person does. */
async function rejectWith(id: string, body: Record<string, unknown>): Promise<void> {
  await stage.api("POST", `/api/actions/${id}/reject?project=my-app`, body);
}

test.each([["light", 1440], ["dark", 390]] as const)(
  "the next version shows the comments on the one before, and they are answered and settled, in %s at %i px",
  async (scheme, width) => {
    const name = `thread-${width}.ts`;
    const path = `src/${name}`;
    const first = await stage.hold(name, "one\ntwo\nthree\n");
    const hidden = "Three\u202e?";
    await rejectWith(first.id, {
      comments: [{ path, line: 1, text: "a longer name" }, { path, line: 3, text: hidden }],
    });
    const second = await stage.hold(name, "zero\nfirst\ntwo\nthree\n");
    const page = await stage.page(`/approvals?id=${second.id}`, { scheme, width });
    await headline(page, name);
    await settled(page);
    const earlier = page.getByRole("region", { name: "Earlier comments" });
    const [changed, same] = [0, 1].map((n) =>
      earlier.getByRole("list").first().locator("> li").nth(n)
    );
    await changed!.getByText("The agent changed this line").waitFor();
    await changed!.getByText("a longer name").waitFor();
    await same!.getByText("Line 4").waitFor();
    await same!.getByText("The agent left this line as it was").waitFor();
    await same!.getByText("Three[U+202E]?").waitFor();
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      // deno-lint-ignore no-explicit-any
      const { violations } = await (globalThis as any).axe.run(document);
      // deno-lint-ignore no-explicit-any
      return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
    });
    expect(found).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    if (process.env["GATE_SHOTS"]) {
      await earlier.scrollIntoViewIfNeeded();
      await page.screenshot({
        path: `${process.env["GATE_SHOTS"]}/threads-${scheme}-${width}.png`,
      });
    }
    await changed!.getByRole("button", { name: "Settle" }).click();
    await same!.getByRole("button", { name: "Answer" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Answer to the earlier comment").fill("It is still there");
    await page.keyboard.press("Enter");
    await page.getByText("Line 4, an answer").waitFor();
    await page.keyboard.press("r");
    await page.getByText("Sends 1 comment on lines too").waitFor();
    await page.getByText("Settles 1 comment").waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await stage.detail(second.id)).status).toBe("rejected");
    expect((await stage.detail(second.id)).reason).toBe(
      `${path}:4 ("three"), again: It is still there`,
    );
    const third = await stage.hold(name, "zero\nfirst\ntwo\nthree\n");
    await page.goto(`${stage.gate.url}/approvals?id=${third.id}`);
    await earlier.getByText("It is still there").waitFor();
    await earlier.getByText("Three[U+202E]?").waitFor();
    expect(await earlier.getByText("a longer name").count()).toBe(0);
    expect(await earlier.getByRole("button", { name: "Answer" }).count()).toBe(1);
  },
);

test("an approval settles every comment on the file", async () => {
  const path = "src/settled.ts";
  const first = await stage.hold("settled.ts", "one\n");
  await rejectWith(first.id, { comments: [{ path, line: 1, text: "no" }] });
  const second = await stage.hold("settled.ts", "two\n");
  await stage.api("POST", `/api/actions/${second.id}/approve?project=my-app`, {});
  const third = await stage.hold("settled.ts", "three\n");
  await rejectWith(third.id, { comments: [{ path, line: 1, text: "not this either" }] });
  const fourth = await stage.hold("settled.ts", "four\n");
  const page = await stage.page(`/approvals?id=${fourth.id}`);
  const earlier = page.getByRole("region", { name: "Earlier comments" });
  await earlier.getByText("not this either").waitFor();
  expect(await earlier.getByText("no", { exact: true }).count()).toBe(0);
});
