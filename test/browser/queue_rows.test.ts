import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { HOSTILE } from "./rooms.ts";
import { headline, Stage } from "./stage.ts";

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
  await stage.submit("submit_plan", {
    title: `Add a health check ${"to every service ".repeat(10)}`,
    steps: [{ tool: "write_file", input: { path: "src/health.ts", content: "ok\n" } }],
  });
  const page = await stage.page("/approvals?project=my-app&scope=all");
  await page.locator(".queue-row").nth(6).waitFor();
  await stage.hold("late.ts", "1\n", { agent: "a new one" });
  await page.getByText("new", { exact: true }).waitFor();
  await page.keyboard.press("x");
  await page.locator(".queue-row").nth(3).click();
  await headline(page, "b.ts");
  await page.keyboard.press("z");
  await page.getByText("Move it to the end").waitFor();
  await page.keyboard.press("4");
  await page.getByText("expires in").first().waitFor();
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
          wraps: [...row.querySelectorAll(".queue-meta > *")]
            .some((part) => part.getBoundingClientRect().height > 24),
          // Its words end inside of the row's middle part.
          time: inside(row.querySelector(".time")) &&
            row.querySelector(".time")!.getBoundingClientRect().right <=
              row.querySelector(".list-row-words")!.getBoundingClientRect().right + 1,
          cut: [...row.querySelectorAll(".time, .fresh, .contested")]
            .some((part) => part.scrollWidth > part.clientWidth + 1),
          risk: inside(row.querySelector(".badge")),
          // A text that is too long ends with a sign of that.
          clipped: row.querySelector(".sentence")!.scrollWidth >
            row.querySelector(".sentence")!.clientWidth + 1,
        };
      })
    );
    const [first] = rows;
    expect(rows, `${width} px`).toEqual(
      rows.map(() => ({
        ...first,
        wraps: false,
        cut: false,
        time: true,
        risk: true,
        clipped: false,
      })),
    );
  }
});

test("a row has the line counts of its card; a command and a content without text have none", async () => {
  const old = Array.from({ length: 60 }, (_, i) => `line ${i}`);
  stage.write("src/edited.ts", `${old.join("\n")}\n`);
  const edited = old.map((line, i) => i % 20 === 0 ? `new ${i}` : line).concat("one", "two");
  await stage.hold("edited.ts", `${edited.join("\n")}\n`);
  await stage.hold("new.ts", "1\n2\n3\n");
  stage.write("src/gone.ts", "1\n2\n");
  await stage.submit("delete_file", { path: "src/gone.ts" });
  await stage.submit("run_command", { command: "npm publish" });
  stage.write("src/binary.ts", Uint8Array.of(0, 1, 2));
  await stage.hold("binary.ts", "text\n");
  const page = await stage.page("/approvals?project=my-app");
  const rows = page.locator(".queue-row");
  await rows.nth(4).waitFor();
  const counts = await rows.evaluateAll((all) =>
    all.map((row) => row.querySelector(".queue-lines")?.textContent ?? null)
  );
  expect(counts).toEqual(["+5−3", "+3", "−2", null, null]);
  for (const at of [0, 1, 2]) {
    await rows.nth(at).click();
    await page.locator(".headline", { hasText: ["edited", "new", "gone"][at]! }).waitFor();
    const figures = page.locator(".figures").first();
    await figures.locator(".figure-add, .figure-del").first().waitFor();
    const shown = await figures.locator(".figure-add, .figure-del").allTextContents();
    expect(shown.join("")).toBe(counts[at]);
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

test("the row of a move has both paths, in the queue and in the list of actions", async () => {
  stage.write("src/old.ts", "1\n");
  await stage.submit("move_file", { from: "src/old.ts", to: "src/new/name.ts" });
  const page = await stage.page("/approvals?project=my-app");
  await page.getByTitle("Move src/old.ts to src/new/name.ts").waitFor();
  await page.goto(`${stage.gate.url}/actions?project=my-app`);
  await page.getByTitle("Move src/old.ts to src/new/name.ts").waitFor();
});

test("a row shows the start and the end of a very long command", async () => {
  const command = `echo ${"p\u0430y ".repeat(5_000)}end-of-it`;
  await stage.submit("run_command", { command }, { agent: "long" });
  const page = await stage.page("/approvals");
  const line = page.locator(".sentence", { hasText: "end-of-it" }).first();
  await line.waitFor();
  expect(await line.innerText()).toMatch(/\[\d+ more characters, some in another alphabet\]/);
  expect(await line.locator(".chip").count()).toBeLessThan(500);
});
