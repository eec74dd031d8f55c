import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { HOSTILE } from "./rooms.ts";
import { Stage } from "./stage.ts";

const LONG = "a-project-with-a-very-long-name-that-no-column-has-room-for";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", LONG]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

test("every row of the queue has the same height at every width, and shows age and risk", async () => {
  await stage.hold("a.ts", "1\n");
  await stage.hold("same.ts", "1\n", { agent: "one" });
  await stage.hold("same.ts", "2\n", { agent: "two" });
  await stage.hold(`${"deep/".repeat(40)}b.ts`, "1\n", { agent: "x".repeat(200), project: LONG });
  await stage.submit("run_command", { command: `npm publish ${"y ".repeat(400)}` }, {
    agent: HOSTILE,
    project: LONG,
  });
  await stage.submit("run_command", { command: "npm publish\necho 2\necho 3" });
  const page = await stage.page("/approvals?project=my-app&scope=all");
  await page.locator(".queue-row").nth(5).waitFor();
  await stage.hold("late.ts", "1\n", { agent: "a new one" });
  await page.getByText("new", { exact: true }).waitFor();
  await page.keyboard.press("x");
  for (const width of [1440, 1200, 1199, 1024, 960, 959, 720, 390, 360]) {
    await page.setViewportSize({ width, height: 900 });
    if (width < 960) await page.goto(`${stage.gate.url}/approvals?project=my-app&scope=all`);
    await page.locator(".queue-row").nth(6).waitFor();
    const rows = await page.locator(".queue-row").evaluateAll((all) =>
      all.map((row) => {
        const right = row.getBoundingClientRect().right;
        const inside = (part: Element | null) =>
          part !== null && part.getBoundingClientRect().width > 8 &&
          part.getBoundingClientRect().right <= right;
        return {
          height: row.getBoundingClientRect().height,
          time: inside(row.querySelector(".time")),
          risk: inside(row.querySelector(".badge")),
        };
      })
    );
    const [first] = rows;
    expect(rows, `${width} px`).toEqual(rows.map(() => ({ ...first, time: true, risk: true })));
  }
});

test("the row of another project has its name; the sidebar's links keep the scope", async () => {
  await stage.hold("theirs.ts", "1\n", { project: LONG });
  const page = await stage.page("/approvals?project=my-app&scope=all");
  await page.locator(".queue-row", { hasText: LONG }).waitFor();
  for (const name of ["Actions", "Policy", "Remediation", "Projects", "Approvals"]) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await page.waitForURL(new RegExp(`/${name.toLowerCase()}`));
    const { searchParams } = new URL(page.url());
    expect([name, searchParams.get("project"), searchParams.get("scope")]).toEqual([
      name,
      "my-app",
      "all",
    ]);
  }
  await page.locator(".queue-row", { hasText: "theirs.ts" }).waitFor();
});
