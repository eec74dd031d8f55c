import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { policyTemplate } from "../../server/policy/templates.ts";
import { engineOnce, findEngine } from "../../server/sandbox/engine.ts";
import { connect } from "../server/sandbox/agent.ts";
import { headline, settled, Stage } from "./stage.ts";

const ENGINE = await findEngine({ confine: null });
if (ENGINE === null) console.error("NOT RUN: no sandbox engine here, so no changes are held");

describe.runIf(ENGINE !== null)("the changes of a command that worked on a copy", () => {
  let stage: Stage;
  let run: Awaited<ReturnType<typeof connect>>;

  beforeAll(async () => {
    stage = await Stage.open([], { sandbox: engineOnce() });
    const balanced = policyTemplate("balanced");
    await stage.addProject("my-app", {
      ...balanced,
      sandbox: { ...balanced.sandbox, mode: "review" },
    });
    for (const name of ["a", "b", "c"]) stage.write(`src/${name}.txt`, `old ${name}\n`);
    run = await connect(stage.agentOf("my-app"));
  });
  afterAll(() => stage?.close());

  test("are one card with each diff, its command and what is left out; a part is taken over", async () => {
    stage.write(
      "do.py",
      "import os\n" +
        "for n in 'abc': open('src/%s.txt' % n,'w').write('new ' + n + chr(10))\n" +
        "os.symlink('a.txt', 'src/link'); os.makedirs('.husky'); open('.husky/x','w')\n",
    );
    const { held_changes } = await run("python3 do.py", { wait_ms: 25_000 });
    const { action_id } = held_changes as { action_id: string };
    const page = await stage.page(`/approvals?project=my-app&id=${action_id}`);
    await headline(page, "Take over 3 changed files of a command");
    const card = page.locator("article.card");
    await card.getByText("new c").waitFor();
    const text = await card.innerText();
    for (const shown of ["old a", "new a", "old b", "python3 do.py", "gate takes over no links"]) {
      expect(text).toContain(shown);
    }
    expect(text).toContain("gate guards it");
    for (const name of ["Edit", "Remember"]) {
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    }
    await page.getByText("Takes over all 3 files").click();
    await page.getByLabel("src/b.txt").uncheck();
    await page.getByText("Takes over 2 of 3 files").waitFor();
    await page.getByText("You are approving the marked files and no others").waitFor();
    await approve(page);
    await expect.poll(() => stage.detail(action_id)).toMatchObject({
      status: "approved",
      execution: "succeeded",
      edited: true,
    });
    const read = (name: string) =>
      readFileSync(join(stage.folder, `my-app/src/${name}.txt`), "utf8");
    expect([read("a"), read("b"), read("c")]).toEqual(["new a\n", "old b\n", "new c\n"]);
    const { taken_from } = await stage.detail(action_id);
    await page.goto(`${stage.gate.url}/actions/${taken_from!.action_id}?project=my-app`);
    await page.getByText("3 changed files held for a person").waitFor();
    expect(stage.complaints.splice(0)).toEqual([]);
  });

  test("are not marked with others when a part is left out, and not approved when nothing is", async () => {
    const { held_changes } = await run(
      "python3 -c \"[open('src/%s.txt' % n,'w').write('third ' + n) for n in 'ab']\"",
      { wait_ms: 25_000 },
    );
    const { action_id } = held_changes as { action_id: string };
    const page = await stage.page(`/approvals?project=my-app&id=${action_id}`);
    await page.getByText("Takes over all 2 files").click();
    await page.getByLabel("src/a.txt").uncheck();
    await settled(page);
    await page.keyboard.press("x");
    await page.getByText("An action that is taken over in part is approved alone.").waitFor();
    await page.getByLabel("src/b.txt").uncheck();
    await approve(page);
    await page.getByText("No file is left to take over. Reject the action instead.").waitFor();
    expect(await stage.detail(action_id)).toMatchObject({ status: "pending" });
    expect(stage.complaints.splice(0)).toEqual([]);
  });
});

/** Reads the card to its end and approves it. */
async function approve(page: Page): Promise<void> {
  await page.locator(".end-mark").scrollIntoViewIfNeeded();
  await settled(page);
  await page.getByRole("button", { name: "Approve", exact: true }).click();
}
