import process from "node:process";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Action } from "../../server/actions/schema.ts";
import { headline, settled, Stage, until } from "./stage.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

/** A held action, the keys that decide it, and the status that it has afterwards. */
interface Case {
  title: string;
  hold: () => Promise<Action>;
  decide: (page: Page) => Promise<void>;
  status: Action["status"];
}

const press = (...keys: string[]) => async (page: Page) => {
  for (const key of keys) await page.keyboard.press(key);
};
const reject = (reason: string) => async (page: Page) => {
  await page.keyboard.press("r");
  await page.locator("#reject-reason:focus").waitFor();
  await page.keyboard.type(reason);
  await page.keyboard.press("Enter");
};
const confirm = async (page: Page) => {
  await page.keyboard.press("a");
  await page.getByText("Before you approve").waitFor();
  await page.keyboard.press("y");
};
const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i}\n`).join("");

const write = (name: string, content = "1\n"): Pick<Case, "title" | "hold"> => ({
  title: `src/${name}`,
  hold: () => stage.hold(name, content),
});
const run = (command: string): Pick<Case, "title" | "hold"> => ({
  title: `Run ${command}`,
  hold: () => stage.submit("run_command", { command }),
});
const edit = (name: string): Pick<Case, "title" | "hold"> => ({
  title: `Edit src/${name}`,
  hold: () => {
    stage.write(`src/${name}`, lines(40));
    const [old_string, new_string] = ["line 20\n", "line twenty\n"];
    return stage.submit("edit_file", {
      path: `src/${name}`,
      edits: [{ old_text: old_string, new_text: new_string }],
    });
  },
});
const remove = (name: string): Pick<Case, "title" | "hold"> => ({
  title: `Delete src/${name}`,
  hold: () => {
    stage.write(`src/${name}`, lines(10));
    return stage.submit("delete_file", { path: `src/${name}` });
  },
});

const approved = { decide: press("a"), status: "approved" } as const;
const rejected = { decide: reject("not now"), status: "rejected" } as const;
const CASES: Case[] = [
  { ...write("one.ts"), ...approved },
  { ...write("two.ts", lines(12)), ...approved },
  { ...write("three.ts"), ...rejected },
  { ...edit("four.ts"), ...approved },
  { ...run("npm publish"), ...approved },
  { ...run("npm publish --tag next"), ...rejected },
  { ...remove("seven.ts"), ...approved },
  { ...write("hidden.ts", "const a = 1; // \u202e\n"), decide: confirm, status: "approved" },
  { ...write("nine.ts"), ...approved },
  { ...edit("ten.ts"), ...rejected },
  { ...write("long.ts", lines(400)), decide: confirm, status: "approved" },
  {
    ...write("undone.ts"),
    decide: async (page) => {
      await page.keyboard.press("a");
      await page.locator(".toast", { hasText: "Approved: Write src/undone.ts" }).waitFor();
      await page.keyboard.press("u");
      await page.locator(".toast", { hasText: "Rolled back: Write src/undone.ts" }).waitFor();
    },
    status: "rolled_back",
  },
  { ...remove("thirteen.ts"), ...rejected },
  { ...run("git push origin main"), ...approved },
  { ...write("fifteen.ts"), ...approved },
  { ...write("sixteen.ts"), ...rejected },
  {
    ...write("edited.ts"),
    decide: async (page) => {
      await page.keyboard.press("e");
      await page.locator(".cm-focused").waitFor();
      await page.keyboard.type("2");
      await page.keyboard.press("Control+Enter");
      await page.locator(".pane-check").waitFor();
      await page.keyboard.press("Control+Enter");
    },
    status: "approved",
  },
  { ...write("eighteen.ts"), ...approved },
  { ...edit("nineteen.ts"), ...approved },
  { ...write("twenty.ts"), ...approved },
];

test("a queue of 20 mixed actions is reviewed with the keyboard alone", async () => {
  const held: Action[] = [];
  for (const one of CASES) held.push(await one.hold());
  const page = await stage.page("/approvals?project=my-app");
  const started = performance.now();
  const slowest = { title: "", ms: 0 };
  const waited = { card: 0, guard: 0 };
  for (const { title, decide } of CASES) {
    const from = performance.now();
    await headline(page, title.replace(/^Run /, ""));
    const shown = performance.now();
    await settled(page);
    const ready = performance.now();
    waited.card += shown - from;
    waited.guard += ready - shown;
    await decide(page);
    const ms = performance.now() - from;
    if (ms > slowest.ms) Object.assign(slowest, { title, ms });
  }
  await page.getByText("No action is held").waitFor();
  const inSeconds = (ms: number) => (ms / 1000).toFixed(1);
  const seconds = inSeconds(performance.now() - started);
  process.stdout.write(
    `20 actions reviewed by keyboard in ${seconds} s: ${inSeconds(waited.card)} s until the ` +
      `cards appeared, ${inSeconds(waited.guard)} s until they took a decision; ` +
      `the slowest took ${Math.round(slowest.ms)} ms: ${slowest.title}\n`,
  );
  for (const [at, { title, status }] of CASES.entries()) {
    await until(`${title} is ${status}`, async () => {
      return (await stage.detail(held[at]!.id)).status === status;
    });
  }
});
