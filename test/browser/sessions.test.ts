import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Stage, until } from "./stage.ts";

let stage: Stage;
let session: string;
/** The folder of the current test. */
let at: string;
let turn = 0;
const ids: Record<string, string> = {};
beforeAll(async () => {
  stage = await Stage.open();
});
beforeEach(async () => {
  at = `free/${++turn}`;
  const body = { agent: "codex", host: "codex", client: "codex 0.46.0" };
  const made = await stage.api("POST", "/api/sessions?project=my-app", body, "agent");
  session = made.id;
  stage.write(`${at}/old.ts`, "one\ntwo\n");
  ids["first"] = await ask("write_file", { path: `${at}/a.ts`, content: "a\n" });
  const edits = [{ old_text: "two", new_text: "2" }];
  ids["second"] = await ask("edit_file", { path: `${at}/old.ts`, edits });
  ids["third"] = await ask("write_file", { path: `${at}/b.ts`, content: "b\n" });
  ids["blocked"] = await ask("write_file", { path: ".env", content: "KEY=1\n" });
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

async function ask(tool: string, input: Record<string, unknown>): Promise<string> {
  const body = { tool, input, session_id: session };
  return (await stage.api("POST", "/api/actions?project=my-app", body, "agent")).id;
}

const file = (name: string) => join(stage.folder, "my-app", at, name);
const heads = (page: Page) => page.locator(".session-files .file-head .path").allInnerTexts();
const open = async (path = `/sessions/${session}`) => {
  const page = await stage.page(path);
  await page.getByText("The whole session").waitFor();
  return page;
};

/** Lets a command of this session change a guarded file, as a hidden script would. */
async function breakGuard(): Promise<string> {
  const project = "?project=my-app";
  const id = await ask("run_command", { command: "make all" });
  await stage.api("POST", `/api/actions/${id}/approve${project}`, {});
  const path = `/api/actions/${id}`;
  const { claim_id } = await stage.api("POST", `${path}/claim${project}`, {}, "agent");
  stage.write(".husky/pre-commit", "curl https://example.org\n");
  const result = { claim_id, exit_code: 0, output: "", truncated: false, duration_ms: 1 };
  await stage.api("POST", `${path}/result${project}`, result, "agent");
  return id;
}

describe("a blocked session", () => {
  test.each([["light", 360], ["dark", 1280]] as const)(
    "says so with the way to lift the block, in %s at %i px",
    async (scheme, width) => {
      const id = await breakGuard();
      const page = await stage.page(`/sessions/${session}`, { scheme, width });
      const alert = page.getByRole("alert");
      await alert.getByText("gate has blocked this session: it may do nothing more.").waitFor();
      expect(await alert.innerText()).toContain(".husky/pre-commit");
      expect(await alert.innerText()).toContain(`gate session unblock ${session}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
      // The lines stand below one another.
      const [first, second, third] = await Promise.all(
        [0, 1, 2].map((nth) => alert.locator("p").nth(nth).boundingBox()),
      );
      expect(second!.y).toBeGreaterThanOrEqual(first!.y + first!.height);
      expect(third!.y).toBeGreaterThanOrEqual(second!.y + second!.height);
      await page.goto(`${stage.gate.url}/actions/${id}`);
      await page.getByText("Changes of guarded files undone").waitFor();
      await page.getByText("Session blocked", { exact: true }).waitFor();
    },
  );
});

test("the block of an agent is told as that, with the way to lift it", async () => {
  const policies = { defaultEffect: "ask", blockedPaths: [".env"], maxDenialsPerAgent: 2 };
  stage.write("gate.config.json", JSON.stringify({ id: "strict", policies }), "strict");
  await stage.api("POST", "/api/hub/projects", { root: `${stage.folder}/strict` });
  let of = "";
  for (let n = 0; n < 3; n++) {
    const body = { tool: "write_file", input: { path: ".env", content: "x" } };
    of = (await stage.api("POST", "/api/actions?project=strict", body, "agent")).session_id;
  }
  const page = await stage.page(`/sessions/${of}?project=strict`);
  const alert = page.getByRole("alert");
  await alert.getByText("gate has blocked the agent agent: no session of it may do more.")
    .waitFor();
  const text = await alert.innerText();
  expect(text).toContain("gate session unblock agent");
  expect(text).toMatch(/It ends by itself at \d/);
  await page.goto(`${stage.gate.url}/sessions?project=strict`);
  await page.getByRole("cell", { name: "blocked", exact: true }).waitFor();
});

describe("one session", () => {
  test("the list leads to its actions and changed files", async () => {
    const page = await stage.page("/sessions");
    await page.locator("tbody .row-link").first().click();
    await page.getByText("codex 0.46.0").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/sessions/${session}`);
    expect(await page.locator(".step .sentence").allTextContents()).toEqual([
      `Write ${at}/a.ts`,
      `Edit ${at}/old.ts`,
      `Write ${at}/b.ts`,
      "Write .env",
    ]);
    await page.getByText("3 files changed").waitFor();
    expect(await heads(page)).toEqual([`${at}/a.ts`, `${at}/old.ts`, `${at}/b.ts`]);
  });

  test("the keyboard moves through its actions, and the URL names the chosen one", async () => {
    const page = await open();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.getByText("1 file changed").waitFor();
    expect(await heads(page)).toEqual([`${at}/old.ts`]);
    expect(new URL(page.url()).searchParams.get("action")).toBe(ids["second"]);
    await page.locator(".session-files .line-del", { hasText: "two" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.getByText("This action changed no files").waitFor();
    await page.keyboard.press("o");
    await page.waitForURL(new RegExp(`/actions/${ids["blocked"]}`));
    await page.goBack();
    await page.getByText("This action changed no files").waitFor();
  });

  test("rolling back from an action shows a preview first, and leaves earlier actions", async () => {
    const page = await open(`/sessions/${session}?action=${ids["second"]}`);
    await page.getByText("2 actions can be rolled back").waitFor();
    await page.keyboard.press("u");
    const pane = page.getByRole("region", { name: "Roll back" });
    await pane.getByText("2 actions would be rolled back").waitFor();
    expect(await pane.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringMatching(/b\.ts\s+is removed/),
      expect.stringMatching(/old\.ts\s+gets its previous content back/),
    ]);
    expect(readFileSync(file("old.ts"), "utf8")).toBe("one\n2\n");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Rolled back 2 actions").waitFor();
    expect(readFileSync(file("old.ts"), "utf8")).toBe("one\ntwo\n");
    expect([existsSync(file("a.ts")), existsSync(file("b.ts"))]).toEqual([true, false]);
    await page.getByText("partly rolled back").waitFor();
  });

  test.each([["the whole session", ""], ["from an action on", "second"]])(
    "an action after the preview is shown before it is rolled back: %s",
    async (_what, from) => {
      const page = await open(`/sessions/${session}${from && `?action=${ids[from]}`}`);
      const first = from ? 2 : 3;
      await page.getByText(`${first} actions can be rolled back`).waitFor();
      await page.keyboard.press("u");
      await page.getByText(`${first} actions would be rolled back`).waitFor();
      await ask("write_file", { path: `${at}/late.ts`, content: "late\n" });
      await page.locator(".step", { hasText: "late.ts" }).waitFor();
      await page.keyboard.press("Control+Enter");
      await page.getByText(`${first + 1} actions would be rolled back`).waitFor();
      expect([existsSync(file("b.ts")), existsSync(file("late.ts"))]).toEqual([true, true]);
      await page.keyboard.press("Control+Enter");
      await page.getByText(`Rolled back ${first + 1} actions`).waitFor();
      expect([existsSync(file("b.ts")), existsSync(file("late.ts"))]).toEqual([false, false]);
    },
  );

  test("the whole session is rolled back with the mouse, and closing the preview changes nothing", async () => {
    const page = await open();
    const button = page.getByRole("button", { name: "Roll back the session" });
    await button.click();
    await page.getByText("3 actions would be rolled back").waitFor();
    await page.keyboard.press("Escape");
    await button.waitFor();
    expect(existsSync(file("a.ts"))).toBe(true);
    await button.click();
    await page.getByText("3 actions would be rolled back").waitFor();
    await page.getByRole("button", { name: "Roll back", exact: true }).click();
    await page.getByText("Rolled back 3 actions").waitFor();
    await until("the page shows the rollback", async () => await button.isDisabled());
    expect(existsSync(file("a.ts"))).toBe(false);
    await page.getByText("This session changed no files").waitFor();
  });

  test("a later change is shown in three states, and nothing is touched", async () => {
    const page = await open();
    stage.write(`${at}/old.ts`, "mine\n");
    await page.keyboard.press("u");
    const pane = page.getByRole("region", { name: "Roll back" });
    await pane.getByText("Nothing was changed.").waitFor();
    expect(await pane.locator("thead th").allInnerTexts()).toEqual([
      "Before",
      "After the agent",
      "Now",
    ]);
    const states = pane.getByRole("region", { name: `Three states of ${at}/old.ts` });
    await states.waitFor();
    for (const width of [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const [now, whole] = [
        await states.getByText("Now").boundingBox(),
        await states.boundingBox(),
      ];
      expect(now!.x + now!.width, `${width} px`).toBeLessThanOrEqual(whole!.x + whole!.width);
    }
    expect(existsSync(file("a.ts"))).toBe(true);
    await page.getByRole("button", { name: "Overwrite" }).click();
    await page.getByText("Rolled back 3 actions").waitFor();
    expect(readFileSync(file("old.ts"), "utf8")).toBe("one\ntwo\n");
  });

  test("the preview of a rollback says what it does not restore", async () => {
    const file = stage.write("src/part.txt", "part");
    const agent = { agent: "parts" };
    const command = "rm src/part.txt; make";
    const { id, session_id } = await stage.submit("run_command", { command }, agent);
    await stage.api("POST", `/api/actions/${id}/approve?project=my-app`, {});
    const { claim_id } = await stage.api("POST", `/api/actions/${id}/claim`, {}, "agent");
    unlinkSync(file);
    const result = { claim_id, exit_code: 0, output: "", truncated: false, duration_ms: 1 };
    await stage.api("POST", `/api/actions/${id}/result`, result, "agent");
    const page = await stage.page(`/sessions/${session_id}`);
    await page.getByText("1 action can be rolled back").waitFor();
    await page.keyboard.press("u");
    const pane = page.getByRole("region", { name: "Roll back" });
    await pane.getByText("1 action would be rolled back").waitFor();
    const left = pane.locator(".notice", { hasText: "Not all is restored" });
    await left.getByText('other effects of "make" are unknown').waitFor();
    await left.getByRole("link").click();
    await page.waitForURL(new RegExp(`/actions/${id}`));
  });

  test("the agent's next action appears on the page", async () => {
    const page = await open();
    await ask("write_file", { path: `${at}/late.ts`, content: "late\n" });
    await page.getByText("4 files changed").waitFor();
    expect(await page.locator(".step .sentence").last().textContent()).toBe(`Write ${at}/late.ts`);
  });

  test("a missing session says so", async () => {
    const page = await stage.page("/sessions/01999999-0000-7000-8000-000000000000");
    await page.getByText("This session cannot be shown").waitFor();
    await page.getByText("Cannot find session").waitFor();
  });

  test("a card leads to its session", async () => {
    await ask("write_file", { path: "src/held.ts", content: "x\n" });
    const page = await stage.page();
    await page.locator(".card").getByRole("link", { name: "session" }).click();
    await page.getByText("The whole session").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/sessions/${session}`);
  });
});

test("many files and long files are shown in steps", async () => {
  for (let i = 0; i < 22; i++) {
    await ask("write_file", {
      path: `${at}/many/${i}.ts`,
      content: "x\n".repeat(i === 0 ? 900 : 1),
    });
  }
  const page = await open();
  await page.getByText("25 files changed").waitFor();
  expect((await heads(page)).length).toBe(20);
  await page.getByText(/more lines not shown yet/).waitFor();
  await page.getByText("5 more files not shown yet.").locator("..").getByRole("button").click();
  await until("every file is shown", async () => (await heads(page)).length === 25);
});
