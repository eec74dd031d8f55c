import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

vi.setConfig({ testTimeout: 60_000 });

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i}`);

test("what changes of a file that is there, when it was asked and what to type", async () => {
  writeFileSync(join(gated.folder, "long.txt"), `${LINES.join("\n")}\n`);
  const held = await gated.write("long.txt", `${LINES.with(20, "changed").join("\n")}\n`);
  const shown = await gated.good("show", held.id);
  expect(shown.stdout).toContain("── what changes ─");
  expect(shown.stdout).toContain("-line 20\n+changed\n");
  expect(shown.stdout).not.toContain("line 10");
  expect(shown.stdout).toMatch(/asked +\d{4}-\S+ {2}\(\d+s ago\)/);
  expect(shown.stderr).toContain(`gate approve ${held.id}`);
  await gated.good("approve", held.id);
  const done = await gated.good("show", held.id);
  expect(done.stdout).toMatch(/decided +\d{4}-\S+ {2}\(\d+s ago\)/);
  expect(done.stderr).toBe("");
});

test("a new file is shown whole, and what is not text by size and hash", async () => {
  const text = await gated.write("new.txt", "first\nsecond\n");
  expect((await gated.good("show", text.id)).stdout).toMatch(/── after ─+\nfirst\nsecond\n/);
  const bytes = { path: "a.bin", content: "AP8BAg==", encoding: "base64" };
  const held = await gated.submit("write_file", bytes);
  const { stdout } = await gated.good("show", held.id);
  expect(stdout).toMatch(/── before ─+\nno file\n/);
  expect(stdout).toContain(`4 bytes, not shown`);
  expect(stdout).toContain(`sha256 ${held.after_sha256}`);
});

test("what a reviewer changed is told apart from what the agent had asked for", async () => {
  const held = await gated.write("edited.txt", "asked\nkept\n");
  const edit = JSON.stringify({ content: "better\nkept\n" });
  await gated.json("api", "POST", `/api/actions/${held.id}/approve-with-edit`, "-d", edit);
  const { stdout } = await gated.good("show", held.id);
  expect(stdout).toContain("── what the reviewer changed ─");
  expect(stdout).toContain("-asked\n+better\n kept");
});

test("an approved command that no agent has come for is said to wait for one", async () => {
  const held = await gated.submit("run_command", { command: "make all" });
  expect((await gated.good("show", held.id)).stdout).toMatch(/── would run ─+\nmake all/);
  const approved = await gated.good("approve", held.id);
  expect(approved.stderr).toContain("the agent runs it when it comes for the answer");
  expect((await gated.good("show", held.id)).stdout).toContain("approved, not run yet");
});
