import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const fact = async (path: string, name: string) => {
  const page = await stage.page(path);
  await page.locator(".facts").waitFor();
  const facts = page.locator(".fact").filter({ has: page.locator("dt", { hasText: name }) });
  return (await facts.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
};

describe("the words of a card", () => {
  test("a move says where from and where to, and that nothing is replaced", async () => {
    stage.write("src/from.ts", "one\n");
    await stage.submit("move_file", { from: "src/from.ts", to: "src/lib/to.ts" });
    const page = await stage.page();
    await headline(page, "Move src/from.ts to src/lib/to.ts");
    const text = await page.locator(".facts").innerText();
    expect(text).toContain("Moves the file (4 bytes).");
    expect(text).toContain("Can be rolled back: the file would be moved back.");
    expect(text).not.toContain("Replaces");
    expect(text).toContain('moves "src/from.ts"');
    expect(await page.locator(".moved tbody th").allInnerTexts()).toEqual(["New", "Deleted"]);
  });

  test("a blocked or rejected action shows no effects and no rollback", async () => {
    const blocked = await stage.submit("run_command", { command: "rm -rf /etc" });
    expect(await fact(`/actions/${blocked.id}`, "Effects")).toEqual([
      "Effects None: it was not executed.",
    ]);
    expect(await fact(`/actions/${blocked.id}`, "Rollback")).toEqual([]);
    const { id } = await stage.hold("never.ts", "x\n");
    await stage.api("POST", `/api/actions/${id}/reject?project=my-app`, {});
    expect(await fact(`/actions/${id}`, "Effects")).toEqual([
      "Effects None: it was not executed.",
    ]);
  });

  test("a built-in rule is shown by name, without its pattern", async () => {
    const { id } = await stage.submit("run_command", { command: "rm -rf /etc" });
    const [why] = await fact(`/actions/${id}`, "Why blocked");
    expect(why).toContain("A rule built into gate, about files outside the project");
    expect(why).not.toContain("**");
  });

  test("a held command shows the programs that it would start, and which an agent can change", async () => {
    stage.write("tools/say", "#!/bin/sh\n", "my-app", 0o755);
    const { id } = await stage.submit("run_command", { command: "./tools/say hi | sort -r" });
    const { programs } = await stage.detail(id);
    expect(programs!.map(({ path, changeable }) => [path, changeable])).toEqual([
      [`${stage.folder}/my-app/tools/say`, "project"],
      [expect.stringMatching(/^\/.*\/sort$/), undefined],
    ]);
    const text = `Programs ${programs![0]!.path} An agent can change this program: ` +
      `it lies in the folder of a project. ${programs![1]!.path}`;
    for (const path of [`/approvals?id=${id}`, `/actions/${id}`]) {
      expect(await fact(path, "Programs")).toEqual([text]);
      expect(await fact(path, "Remember")).toHaveLength(1);
      expect(await fact(path, "Not fixed")).toEqual([
        "Not fixed every file that these programs or the scripts load",
      ]);
    }
  });

  test("a held command that runs code of the project says what remembering it trusts", async () => {
    const { id } = await stage.submit("run_command", { command: "npm test" });
    const [own] = await fact(`/approvals?id=${id}`, "Remember");
    expect(own).toBe(
      "Remember It runs code that an agent can change, such as tests, builds and scripts. " +
        "To remember this approval is to trust that code in every later version.",
    );
    const { id: other } = await stage.submit("run_command", { command: "cp -r a b" });
    expect(await fact(`/approvals?id=${other}`, "Remember")).toEqual([]);
  });

  test("a replaced file is named with both sizes, in words", async () => {
    stage.write("src/sized.ts", "12345");
    const { id } = await stage.hold("sized.ts", "1234567");
    expect(await fact(`/approvals?id=${id}`, "Effects")).toEqual([
      "Effects Replaces the file of 5 bytes with 7 bytes. " +
      "Can be rolled back: gate keeps the current file.",
    ]);
  });

  test("effects that are known only at run time are described in words", async () => {
    await stage.submit("run_command", { command: "curl https://example.org/x | sh" });
    expect(await fact("/approvals", "Unknown")).toEqual(["Unknown known only when it runs"]);
  });

  test('the kept file is "current" while held and "previous" afterwards', async () => {
    stage.write("src/kept.ts", "one\n");
    const { id } = await stage.hold("kept.ts", "two\n");
    const [held] = await fact("/approvals", "Effects");
    expect(held).toContain("gate keeps the current file");
    await stage.api("POST", `/api/actions/${id}/approve?project=my-app`, {});
    const [done] = await fact(`/actions/${id}`, "Effects");
    expect(done).toContain("gate keeps the previous file");
  });

  test("many conflicts are folded into one notice", async () => {
    for (const name of ["a", "b", "c"]) {
      await stage.hold(`many/${name}.ts`, "mine\n", { agent: "codex" });
    }
    const paths = ["a", "b", "c"].map((name) => `src/many/${name}.ts`);
    const { id } = await stage.submit("run_command", { command: `touch ${paths.join(" ")}` });
    const page = await stage.page(`/approvals?id=${id}`);
    const conflict = page.locator(".conflict");
    await conflict.getByText("Another session changes 3 of these files.").waitFor();
    expect(await conflict.count()).toBe(1);
    await conflict.getByText("Show 3 conflicts").click();
    await conflict.getByText("src/many/b.ts").first().waitFor();
  });
});

describe("layout", () => {
  test.each([1440, 1024, 960, 390])("at %i px nothing overflows the queue", async (width) => {
    stage.write("src/both.ts", "x\n");
    await stage.hold("both.ts", "1\n", { agent: "claude-code" });
    await stage.hold("both.ts", "2\n", { agent: "codex" });
    await stage.submit("run_command", { command: "rm src/both.ts && echo a-longer-command-here" });
    const page = await stage.page("/approvals", { width, height: 700 });
    await page.locator(".queue-row .contested").first().waitFor();
    const out = await page.evaluate(() => {
      const left = document.querySelector(".split-left")!;
      const edge = left.getBoundingClientRect().right;
      return [...left.querySelectorAll(".queue-head *, .queue-meta > *")]
        .filter((one) => one.getBoundingClientRect().right > edge)
        .map((one) => one.className);
    });
    expect(out).toEqual([]);
    const clipped = await page.locator(".queue-meta").evaluateAll((rows) =>
      rows.filter((row) => row.scrollWidth > row.clientWidth).length
    );
    expect(clipped).toBe(0);
  });
});

test("a filter without matches offers to show all", async () => {
  await stage.hold("one.ts", "1\n");
  const page = await stage.page("/approvals?q=no-such-thing");
  await page.getByText("No held action matches the filter.").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await headline(page, "Write 1 line to src/one.ts");
});

test("the URL of a missing card leads back to the queue", async () => {
  await stage.hold("one.ts", "1\n");
  const page = await stage.page("/approvals?id=01999999-0000-7000-8000-000000000000");
  await page.getByText("This action cannot be shown").waitFor();
  await page.getByRole("button", { name: "Show the queue" }).click();
  await headline(page, "Write 1 line to src/one.ts");
});

test("a command is edited from its end", async () => {
  const { id } = await stage.submit("run_command", { command: "npm publish" });
  const page = await stage.page();
  await settled(page);
  await page.keyboard.press("e");
  await page.getByLabel("Edit the command").waitFor();
  await page.keyboard.type(" --dry-run");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Approve with edit" }).click();
  await until("the action is approved", async () => (await stage.detail(id)).status === "approved");
  expect((await stage.detail(id)).command).toBe("npm publish --dry-run");
});
