import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** How often the card and its bar show a text. */
async function timesSaid(page: Page, text: string): Promise<number> {
  const shown = await page.locator(".reviewed").innerText();
  return shown.split(text).length - 1;
}

describe("a command", () => {
  test("that is short is said once", async () => {
    await stage.submit("run_command", { command: "npm publish --tag next" });
    const page = await stage.page();
    await headline(page, "Run npm publish --tag next");
    await page.locator(".decision .button").first().waitFor();
    expect(await timesSaid(page, "npm publish --tag next")).toBe(1);
  });

  test("with several programs lists them", async () => {
    await stage.submit("run_command", { command: "npm run build && npm publish" });
    const page = await stage.page();
    await headline(page, "Run npm run build && npm publish");
    const runs = page.locator(".fact", { hasText: "Runs" });
    expect(await runs.locator("li").allInnerTexts()).toEqual(["npm run build", "npm publish"]);
  });

  test("that is long is shown whole once, and its long argument is folded in the list", async () => {
    const argument = Array.from({ length: 120 }, (_, at) => `line ${at};`).join(" ");
    await stage.submit("run_command", { command: `true && python3 -c '${argument}'` });
    const page = await stage.page();
    await page.locator(".command").waitFor();
    expect(await page.locator(".command").innerText()).toContain("line 119;");
    expect(await timesSaid(page, "line 119;")).toBe(1);
    const runs = page.locator(".fact", { hasText: "Runs" });
    await runs.getByText(/^Show \d[\d,]* more characters$/).click();
    await runs.getByText("line 119;").waitFor();
  });
});

test("a deletion says how many files and bytes it deletes, and lists them", async () => {
  for (let at = 0; at < 214; at++) stage.write(`build/${at}.js`, "x".repeat(5_600));
  await stage.submit("run_command", { command: "rm -rf build" });
  const page = await stage.page();
  await headline(page, "Run rm -rf build");
  const deletes = page.locator(".fact", { hasText: "Deletes" });
  await deletes.getByText("214 files in build/, 1.2 MB").waitFor();
  await deletes.getByText("build/0.js").waitFor();
  await deletes.getByText("Show 196 more").click();
  await deletes.getByText("14 more files not listed").waitFor();
  expect(await deletes.locator("li").count()).toBe(200);
});

test("what a person approves and what the policy allows differ in word and icon", async () => {
  const approved = await stage.hold("approved.ts", "1\n");
  await stage.api("POST", `/api/actions/${approved.id}/approve`, {});
  const allowed = await stage.submit("write_file", { path: "free/allowed.ts", content: "1\n" });
  const page = await stage.page("/actions");
  const badge = async (name: string) => {
    const row = page.locator("tr", { hasText: name });
    const decision = row.locator("td").nth(1).locator(".badge").first();
    return [await decision.innerText(), await decision.locator("path").getAttribute("d")];
  };
  await page.locator("tr", { hasText: "allowed.ts" }).first().waitFor();
  const [byPerson, byPolicy] = [await badge("approved.ts"), await badge("allowed.ts")];
  expect([byPerson[0], byPolicy[0]]).toEqual(["approved", "allowed"]);
  expect(byPerson[1]).not.toBe(byPolicy[1]);
  for (
    const [{ id }, badgeOf, word] of [
      [approved, byPerson, "Approved"],
      [allowed, byPolicy, "Allowed"],
    ] as const
  ) {
    await page.goto(`${stage.gate.url}/actions/${id}`);
    const step = page.locator(".timeline li", { hasText: word }).first();
    await step.waitFor();
    expect(await step.locator("path").getAttribute("d")).toBe(badgeOf[1]);
    const outcome = page.locator(".settled .badge").first();
    expect(await outcome.innerText()).toBe(badgeOf[0]);
    expect(await outcome.locator("path").getAttribute("d")).toBe(badgeOf[1]);
  }
});

test("an agent that calls itself like a person or the policy is marked beside them", async () => {
  const held = await stage.hold("named.ts", "1\n", { agent: "policy" });
  await stage.api("POST", `/api/actions/${held.id}/cancel?project=my-app`, {}, "agent");
  const page = await stage.page(`/actions/${held.id}`);
  await page.locator(".timeline-meta").getByText("agent policy", { exact: false }).first()
    .waitFor();
  await page.locator(".settled").getByText("by agent policy").waitFor();
  await page.goto(`${stage.gate.url}/actions`);
  const row = page.locator("tr", { hasText: "named.ts" }).first();
  expect(await row.locator(".cell-by").innerText()).toBe("agent policy");
  await page.goto(`${stage.gate.url}/audit`);
  await page.locator(".audit-actor", { hasText: "by agent policy" }).first().waitFor();
});
