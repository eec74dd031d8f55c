import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Action } from "../../server/actions/schema.ts";
import { settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** Calls the hook as a host does before its own tool runs. */
async function use(tool: string, tool_input: Record<string, unknown>, host = "claude-code") {
  const cwd = join(stage.folder, "my-app");
  const hook = { session_id: "s", cwd, hook_event_name: "PreToolUse", tool_name: tool, tool_input };
  await stage.api("POST", `/api/hooks/${host}?wait_ms=0`, hook, "agent");
  const { items } = await stage.api("GET", "/api/actions?status=pending&project=my-app");
  return items[0] as Action;
}

/** The changed lines of every file, each with its sign. */
function changedLines(page: Page): Promise<string[]> {
  return page.locator(".diff .line-add, .diff .line-del").evaluateAll((rows) =>
    rows.map((row) => ["sign", "text"].map((n) => row.querySelector(`.line-${n}`)!.textContent))
      .map(([sign, text]) => `${sign}${text}`)
  );
}

test("a host's own Write and Edit show a diff, as the gate's tools do", async () => {
  stage.write("src/a.ts", "one\ntwo\n");
  await use("Edit", { file_path: "src/a.ts", old_string: "two", new_string: "TWO" });
  const page = await stage.page();
  await settled(page);
  expect(await changedLines(page)).toEqual(["-two", "+TWO"]);
  expect(await page.locator(".command").count()).toBe(0);
  await stage.clear();
  const file_path = join(stage.folder, "my-app/src/b.ts");
  await use("Write", { file_path, content: "new\n" });
  const next = await stage.page();
  await settled(next);
  expect(await changedLines(next)).toEqual(["+new"]);
  expect(await next.locator(".command").count()).toBe(0);
  await next.getByText("Creates a new file of 4 bytes.").waitFor();
});

test("a patch shows each of its files and can be approved", async () => {
  stage.write("src/one.ts", "1\n");
  stage.write("src/two.ts", "2\n");
  const patch = [
    ...["*** Begin Patch", "*** Add File: src/new.ts", "+new"],
    ...["*** Update File: src/one.ts", "@@", "-1", "+I"],
    ...["*** Delete File: src/two.ts", "*** End Patch"],
  ].join("\n");
  const { id } = await use("apply_patch", { command: patch }, "codex");
  const page = await stage.page();
  await settled(page);
  expect(await page.locator(".file-head").allInnerTexts()).toEqual([
    expect.stringContaining("new.ts"),
    expect.stringContaining("one.ts"),
    expect.stringContaining("two.ts"),
  ]);
  expect(await changedLines(page)).toEqual(["+new", "-1", "+I", "-2"]);
  await page.getByText("Changes 3 files.").waitFor();
  await page.keyboard.press("a");
  await until("the action is approved", async () => (await stage.detail(id)).status === "approved");
  expect(readFileSync(join(stage.folder, "my-app/src/one.ts"), "utf8")).toBe("1\n");
});

test("the brackets move between files", async () => {
  const lines = Array.from({ length: 60 }, (_, i) => `+line ${i}`);
  const files = ["a", "b", "c"].flatMap((name) => [`*** Add File: src/step/${name}.ts`, ...lines]);
  const command = ["*** Begin Patch", ...files, "*** End Patch"].join("\n");
  await use("apply_patch", { command }, "codex");
  const page = await stage.page();
  await page.locator(".headline", { hasText: "Patch src/step/a.ts and 2 more files" }).waitFor();
  await settled(page);
  const atTop = () =>
    page.locator("section.file").evaluateAll((all) => {
      const top = document.querySelector(".card-scroller")!.getBoundingClientRect().top;
      return all.findIndex((file) => Math.abs(file.getBoundingClientRect().top - top) < 4);
    });
  for (const [key, file] of [["]", 0], ["]", 1], ["[", 0], ["]", 1]] as const) {
    await page.keyboard.press(key);
    await until(`file ${file} is at the top`, async () => await atTop() === file);
  }
});

test("an edit with an unknown result shows its input", async () => {
  stage.write("src/twice.ts", "x\nx\n");
  await use("Edit", { file_path: "src/twice.ts", old_string: "x", new_string: "y" });
  const page = await stage.page();
  await settled(page);
  await page.locator(".command", { hasText: '"old_string": "x"' }).waitFor();
  expect(await page.locator(".diff").count()).toBe(0);
  await page.getByText("Only the agent host knows what it writes.").waitFor();
});

test("a patch that fits only one file shows that file and the patch", async () => {
  stage.write("src/fits.ts", "1\n");
  stage.write("src/other.ts", "2\n");
  const patch = [
    ...["*** Begin Patch", "*** Update File: src/fits.ts", "@@", "-1", "+I"],
    ...["*** Update File: src/other.ts", "@@", "-nowhere", "+II", "*** End Patch"],
  ].join("\n");
  await use("apply_patch", { command: patch }, "codex");
  const page = await stage.page();
  await settled(page);
  expect(await changedLines(page)).toEqual(["-1", "+I"]);
  await page.locator(".command", { hasText: "-nowhere" }).waitFor();
  await page.locator(".file-head", { hasText: "only the agent host knows" }).getByText("other.ts")
    .waitFor();
});

test("a host's own input cannot be edited, and the button says why", async () => {
  await use("Write", { file_path: "src/c.ts", content: "new\n" });
  const page = await stage.page();
  await settled(page);
  const edit = page.getByRole("button", { name: "Edit" });
  expect(await edit.isDisabled()).toBe(true);
  expect(await edit.getAttribute("title")).toContain("The agent host executes its own input");
});

test("hidden characters in a host's write are counted and require a confirmation", async () => {
  const { id } = await use("Write", { file_path: "src/d.ts", content: "a\u202eb\n" });
  const page = await stage.page();
  await settled(page);
  await page.getByText("1 hidden character in the planned changes").waitFor();
  await page.keyboard.press("a");
  await page.getByText("Before you approve").waitFor();
  expect((await stage.detail(id)).status).toBe("pending");
});

test("the first of many files are shown, and the rest on request", async () => {
  const names = Array.from({ length: 25 }, (_, i) => `src/many/${i}.ts`);
  const patch = ["*** Begin Patch", ...names.flatMap((name) => [`*** Add File: ${name}`, "+x"])];
  await use("apply_patch", { command: [...patch, "*** End Patch"].join("\n") }, "codex");
  const page = await stage.page();
  await settled(page);
  expect(await page.locator(".file").count()).toBe(20);
  await page.keyboard.press("a");
  await page.getByText("You have not seen everything").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("5 more files not shown yet.").waitFor();
  await page.getByRole("button", { name: "Show the next 5" }).click();
  await page.locator(".file", { hasText: "24.ts" }).waitFor();
});
