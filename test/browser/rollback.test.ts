import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const LINES = "one\ntwo\nthree\nfour\nfive\nsix\n";

/** Takes a screenshot for a person, when a folder is given. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env["GATE_TEST_SHOTS"];
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

describe.each(["light", "dark"] as const)("a card, %s", (scheme) => {
  test.each([
    ["rm src/kept.txt", "reversible", "gate keeps the current content of 1 file"],
    ["rm src/kept.txt; make", "partly reversible", 'other effects of "make" are unknown'],
    ["npm test", "not reversible", 'other effects of "npm" are unknown'],
  ])("says before an approval how far `%s` can be rolled back", async (command, word, why) => {
    stage.write("src/kept.txt", "kept");
    await stage.submit("run_command", { command });
    const page = await stage.page("/approvals", { scheme });
    const undo = page.locator(".fact", { hasText: "Rollback" });
    await undo.getByText(word, { exact: true }).waitFor();
    expect(await undo.textContent()).toContain(why);
    await shoot(page, `command-${word.replaceAll(" ", "-")}-${scheme}`);
  });

  test("names another session that changes the file, and shows its change", async () => {
    stage.write("src/both.txt", LINES);
    await stage.hold("both.txt", LINES.replace("two", "TWO"), { agent: "codex" });
    await stage.hold("both.txt", LINES.replace("six", "SIX"), { agent: "gemini" });
    const page = await stage.page("/approvals", { scheme });
    const conflict = page.locator(".conflict");
    await conflict.getByText("another session, gemini, also has a held change to it").waitFor();
    expect(await page.locator(".queue .contested").count()).toBe(2);
    await conflict.getByText("Show its change").click();
    await conflict.getByText("SIX", { exact: true }).waitFor();
    await shoot(page, `conflict-${scheme}`);
  });
});

test("a held change is approved on top of the changed file", async () => {
  const file = stage.write("src/base.txt", LINES);
  const { id } = await stage.hold("base.txt", LINES.replace("two", "TWO"));
  stage.write("src/base.txt", LINES.replace("six", "SIX"));
  const page = await stage.page();
  await page.getByText("The file has changed since the action was held.").waitFor();
  await page.locator(".base").getByText("TWO", { exact: true }).waitFor();
  await shoot(page, "base-light");
  await settled(page);
  await page.keyboard.press("a");
  await page.getByText("Approving applies the change to the current file, as the card shows")
    .waitFor();
  await page.keyboard.press("y");
  await until("the file is written", () => readFileSync(file, "utf8").includes("TWO"));
  expect(readFileSync(file, "utf8")).toBe(LINES.replace("two", "TWO").replace("six", "SIX"));
  await until(
    "the action has executed",
    async () => (await stage.detail(id)).execution === "succeeded",
  );
  expect(await stage.detail(id)).toMatchObject({ edited: true });
});

test("a held deletion of a changed file shows the current content", async () => {
  const file = stage.write("src/other_now.txt", "one\n");
  await stage.submit("delete_file", { path: "src/other_now.txt" });
  stage.write("src/other_now.txt", "two\n");
  const page = await stage.page();
  const base = page.locator(".base");
  await base.getByText("Approving does the same to the current file.").waitFor();
  await base.locator(".line-add", { hasText: "two" }).waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await page.keyboard.press("y");
  await until("the file is gone", () => !existsSync(file));
});

test("an action that can only be rejected says so, and why", async () => {
  stage.write("src/moved_on.txt", "one\n");
  const { id } = await stage.submit("delete_file", { path: "src/moved_on.txt" });
  unlinkSync(join(stage.folder, "my-app/src/moved_on.txt"));
  const page = await stage.page();
  await page.getByText("The file was deleted after the action was held.").waitFor();
  await page.locator(".notice", { hasText: "An approval would be refused." })
    .getByText('"src/moved_on.txt" no longer exists').waitFor();
  await settled(page);
  const decision = page.locator(".decision");
  expect(await decision.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await page.keyboard.press("a");
  await page.getByText("Nothing was approved, because it would be refused.").waitFor();
  for (const key of ["y", "m", "Shift+A"]) await page.keyboard.press(key);
  expect(await page.locator("dialog[open]").count()).toBe(0);
  expect((await stage.detail(id)).status).toBe("pending");
  // The obstacle may go away.
  stage.write("src/moved_on.txt", "one\n");
  await page.getByRole("button", { name: "Check again" }).click();
  await decision.getByRole("button", { name: "Approve" }).waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await until("approved", async () => (await stage.detail(id)).status === "approved");
});

test("the record of a command lists its changed files, and rolls them back", async () => {
  const file = stage.write("src/gone.txt", "gone");
  const { id } = await stage.submit("run_command", { command: "rm src/gone.txt; false" });
  await stage.api("POST", `/api/actions/${id}/approve`, {});
  const { claim_id } = await stage.api("POST", `/api/actions/${id}/claim`, {}, "agent");
  unlinkSync(file);
  const result = { claim_id, exit_code: 1, output: "", truncated: false, duration_ms: 1 };
  await stage.api("POST", `/api/actions/${id}/result`, result, "agent");
  const page = await stage.page(`/actions/${id}?project=my-app`);
  await page.locator('[aria-label="Changed files"]').getByText("src/gone.txt").waitFor();
  await shoot(page, "record-light");
  await page.keyboard.press("u");
  const pane = page.getByRole("region", { name: "Roll back" });
  await pane.getByText("is restored").waitFor();
  expect(await pane.innerText()).not.toContain("The content stays the same");
  await page.keyboard.press("ControlOrMeta+Enter");
  await until("the file is restored", () => {
    try {
      return readFileSync(file, "utf8") === "gone";
    } catch {
      return false;
    }
  });
});
