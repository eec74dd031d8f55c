import { existsSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const file = (name: string) => `${stage.folder}/my-app/free/${name}`;

async function done(name: string, content: string) {
  return await stage.submit("write_file", { path: `free/${name}`, content });
}

test("the timeline shows each step with actor and audit number", async () => {
  const { id } = await stage.hold("life.ts", "x\n");
  const page = await stage.page(`/approvals?id=${id}`);
  await settled(page);
  await page.keyboard.press("a");
  await page.getByText("No action is held").waitFor();
  await page.getByRole("link", { name: "View" }).click();
  const life = page.getByLabel("What happened");
  await life.getByText("Done").waitFor();
  const steps = await life.locator(".timeline-word").allTextContents();
  expect(steps).toEqual(["Submitted", "Held for a person", "Approved", "Started", "Done"]);
  const { timeline } = await stage.detail(id);
  for (const { seq } of timeline) await life.getByText(`audit #${seq}`, { exact: true }).waitFor();
});

test("rolling back shows a preview, restores the file, and can be replayed", async () => {
  stage.write("free/back.ts", "before\n");
  const { id } = await done("back.ts", "after\n");
  const page = await stage.page(`/actions/${id}`);
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("This is what changes on disk").waitFor();
  await page.locator(".rollback .line-add", { hasText: "before" }).waitFor();
  expect(readFileSync(file("back.ts"), "utf8")).toBe("after\n");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/^Rolled back:/).waitFor();
  expect(readFileSync(file("back.ts"), "utf8")).toBe("before\n");
  const undone = page.locator(".timeline li", { hasText: "Rolled back" });
  await undone.getByText("reviewer").waitFor();
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByText("Replayed:").waitFor();
  await until(
    "the file is written again",
    () => readFileSync(file("back.ts"), "utf8") === "after\n",
  );
  expect(page.url()).not.toContain(id);
});

test("a file with later changes is not touched until a person chooses how", async () => {
  const { id } = await done("new.ts", "of the agent\n");
  stage.write("free/new.ts", "of the agent\nand mine\n");
  const page = await stage.page(`/actions/${id}`);
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("The file has changed since the agent wrote it").waitFor();
  await page.locator(".rollback .three-new", { hasText: "and mine" }).waitFor();
  expect(readFileSync(file("new.ts"), "utf8")).toBe("of the agent\nand mine\n");
  await page.getByRole("button", { name: "Overwrite" }).click();
  await page.getByText(/^Rolled back:/).waitFor();
  expect(existsSync(file("new.ts"))).toBe(false);
});

test("the record shows a command's output and exit code", async () => {
  const { id } = await stage.submit("run_command", { command: "echo hello" });
  await stage.api("POST", `/api/actions/${id}/approve`, {});
  const { claim_id } = await stage.api("POST", `/api/actions/${id}/claim`, {}, "agent");
  const result = { exit_code: 3, output: "hello \x1b[31m\n", truncated: true, duration_ms: 1200 };
  await stage.api("POST", `/api/actions/${id}/result`, { claim_id, ...result }, "agent");
  const page = await stage.page(`/actions/${id}`);
  const output = page.getByLabel("Output", { exact: true });
  await output.getByText("exit code 3").waitFor();
  await output.getByText("1.2 s").waitFor();
  await output.getByText("[U+001B]").waitFor();
  await output.getByText("only the beginning and the end are kept").waitFor();
  expect(await page.getByRole("button", { name: "Roll back" }).isDisabled()).toBe(true);
});

test("a move shows both paths", async () => {
  stage.write("src/from.ts", "x\n");
  const { id } = await stage.submit("move_file", { from: "src/from.ts", to: "src/deep/to.ts" });
  const page = await stage.page(`/approvals?id=${id}`);
  await page.locator(".headline", { hasText: "Move src/from.ts to src/deep/to.ts" }).waitFor();
  await page.getByRole("cell", { name: "src/deep/to.ts" }).waitFor();
});

test("a tool that the gate only records is shown with its input", async () => {
  const input = { url: "https://example.org/\u202ex", api_key: "s3cret" };
  const { id } = await stage.submit("WebFetch", input);
  const page = await stage.page(`/approvals?id=${id}`);
  await page.locator(".headline", { hasText: "Use WebFetch" }).waitFor();
  const shown = await page.locator(".command").innerText();
  expect(shown).toContain("https://example.org/[U+202E]x");
  expect(shown).not.toContain("s3cret");
});
