import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const STEPS = [
  { tool: "write_file", input: { path: "src/a.txt", content: "one\ntwo\n" } },
  { tool: "run_command", input: { command: "printf step-two" } },
  { tool: "write_file", input: { path: "src/old.txt", content: "after\n" } },
];

test("the card of a plan shows each step with its diff, and one approval covers them", async () => {
  stage.write("src/old.txt", "before\n");
  const plan = await stage.submit("submit_plan", { title: "Two files <b>now</b>", steps: STEPS });
  const page = await stage.page(`/approvals?project=my-app&id=${plan.id}`);
  const card = page.locator("article.card");
  await card.getByText("Two files <b>now</b>").waitFor();
  const steps = card.locator(".plan-steps > li");
  await expect.poll(() => steps.count()).toBe(3);
  await steps.nth(2).getByText("after").waitFor();
  expect(await steps.nth(0).innerText()).toContain("two");
  expect(await steps.nth(1).innerText()).toContain("printf step-two");
  expect(await steps.nth(2).innerText()).toContain("before");
  // The daemon refuses both for a plan.
  await page.getByRole("button", { name: "Reject" }).waitFor();
  for (const name of ["Edit", "Remember"]) {
    expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
  }
  for (const key of ["m", "e"]) await page.keyboard.press(key);
  expect(await page.locator("dialog[open], .editor").count()).toBe(0);
  for (let at = 0; at < 3; at++) await steps.nth(at).scrollIntoViewIfNeeded();
  // A card that has just appeared takes no decision, and each early press starts its wait again.
  const press = async () => {
    await page.keyboard.press("a");
    return (await stage.detail(plan.id)).status;
  };
  await expect.poll(press, { interval: 1_000 }).toBe("approved");
  const first = await stage.submit(STEPS[0]!.tool, STEPS[0]!.input);
  expect(first).toMatchObject({ status: "approved", decision: { lease_id: plan.id } });
  await page.goto(`${stage.gate.url}/actions/${plan.id}?project=my-app`);
  await page.locator(".plan-steps > li").first().getByText("done").waitFor();
});

test("lists call a plan by its title", async () => {
  const title = "Two files <b>now</b>\u202e";
  const plan = await stage.submit("submit_plan", { title, steps: STEPS });
  expect(plan.title).toBe(title);
  const shown = /^Carry out\s*a plan: Two files <b>now<\/b>\W*U\+202E\W*$/;
  const page = await stage.page(`/approvals?project=my-app&id=${plan.id}`);
  const row = page.locator(".queue-row .sentence").first();
  await row.waitFor();
  expect(await row.textContent()).toMatch(shown);
  await page.goto(`${stage.gate.url}/actions?project=my-app`);
  const listed = page.locator(".row-link .sentence", { hasText: "a plan: Two files" }).first();
  await listed.waitFor();
  expect(await listed.textContent()).toMatch(shown);
});
