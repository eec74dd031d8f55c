import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.close());

test("the card says why the agent wants to leave the sandbox, and what a sandbox is", async () => {
  const input = { command: "sudo make", outside_sandbox: true, reason: "it needs <b>my</b> keys" };
  await stage.submit("run_command", input);
  const page = await stage.page("/approvals");
  await page.locator(".queue-row").first().click();
  const fact = page.locator(".fact", { hasText: "Sandbox" }).first();
  await fact.getByText("it needs <b>my</b> keys").waitFor();
  const text = await fact.innerText();
  expect(text).toContain("The agent wants it to run outside the sandbox");
  expect(text).toContain("A sandbox is a closed room for one command");
  expect(stage.complaints.splice(0)).toEqual([]);
});
