import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { settled, Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const SCRIPTS = [
  "<script>window.pwned = 1</script>",
  '<img src=x onerror="window.pwned = 1">',
  '"><svg onload=window.pwned=1>',
  "javascript:window.pwned=1",
  "{{constructor.constructor('window.pwned=1')()}}",
];
const HIDDEN: Record<string, string> = {
  "U+202E": "\u202e",
  "U+2066": "\u2066",
  "U+200B": "\u200b",
  "U+FEFF": "\ufeff",
  "U+00AD": "\u00ad",
  "U+00A0": "\u00a0",
  "U+2800": "\u2800",
  "U+FE0F": "\ufe0f",
  "U+E0041": "\u{e0041}",
  "U+001B": "\x1b",
  "U+009B": "\x9b",
  "U+2028": "\u2028",
  "U+3164": "\u3164",
};

test("hidden characters in a file are shown, counted, and require a confirmation", async () => {
  const lines = Object.entries(HIDDEN).map(([name, char]) =>
    `const ${name.slice(2)} = "a${char}b";`
  );
  await stage.hold("hidden.ts", [...SCRIPTS, ...lines, ""].join("\n"));
  const page = await stage.page();
  await settled(page);
  await page.getByText(`${lines.length} hidden characters in the planned changes`).waitFor();
  for (const name of Object.keys(HIDDEN)) {
    expect(await page.locator(".diff .chip", { hasText: `[${name}]` }).count(), name).toBe(1);
  }
  await page.keyboard.press("a");
  await page.getByText(`${lines.length} hidden characters.`).waitFor();
  await expectHarmless(page);
});

test("hidden characters in a command are shown, and long blanks are folded", async () => {
  const command = `echo ok${"\n".repeat(220)}rm -rf x # ${"\u202e"}safe${
    " ".repeat(120)
  }; echo \x1b[31m`;
  await stage.submit("run_command", { command });
  const page = await stage.page();
  const shown = page.locator(".command");
  await shown.getByText("[U+202E]").waitFor();
  await shown.getByText("[U+001B]").waitFor();
  await shown.getByText("blank lines]").waitFor();
  await shown.getByText("[120 spaces]").waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await page.getByText("2 hidden characters.").waitFor();
  await expectHarmless(page);
});

test("names and reasons from agents are plain text on every page", async () => {
  const agent = `${SCRIPTS[1]}\u202e\u200b`.slice(0, 200);
  const { id } = await stage.hold(`${encodeName(SCRIPTS[0]!)}.ts`, "x\n", { agent });
  const action = await stage.hold("b.ts", SCRIPTS.join("\n"), { agent });
  await stage.api("POST", `/api/actions/${action.id}/reject`, { reason: SCRIPTS.join(" ") });
  const page = await stage.page();
  for (const path of [`/approvals?id=${id}`, "/actions", `/actions/${action.id}`, "/sessions"]) {
    await page.goto(stage.gate.url + path);
    await page.getByText("[U+202E]").first().waitFor();
    await expectHarmless(page);
  }
});

test("a hostile URL does no harm", async () => {
  const page = await stage.page();
  const odd = encodeURIComponent(SCRIPTS[1]!);
  for (
    const path of [
      `/approvals?id=${odd}&project=${odd}&q=${odd}`,
      `/actions?status=${odd}&agent=${odd}&path=%E0%A4%A&cursor=${odd}`,
      "/actions/..%2f..%2fetc",
      `/actions/${"a".repeat(2000)}`,
    ]
  ) {
    await page.goto(stage.gate.url + path).catch(() => {});
    await expectHarmless(page);
  }
});

test("10,000 lines can all be shown, in steps", async () => {
  const text = Array.from({ length: 10_000 }, (_, i) => `line ${i + 1}`).join("\n");
  await stage.hold("long.txt", text);
  const page = await stage.page();
  await page.getByText("8,500 more lines not shown yet.").waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await page.getByText("You have not seen everything").waitFor();
  await page.getByRole("button", { name: "Show the next 5,000" }).click();
  await page.getByRole("button", { name: "Show the next 3,500" }).click();
  await page.getByText("line 10000", { exact: true }).waitFor();
  expect(await page.locator(".diff .line-add").count()).toBe(10_000);
  await page.getByText("No newline at the end of the file").waitFor();
});

test("a megabyte on one line is shown whole and does not stop the page", async () => {
  await stage.hold("wide.txt", "x".repeat(1_000_000));
  const page = await stage.page();
  const line = page.locator(".diff .line-add .line-text");
  await line.waitFor();
  expect(await line.evaluate((cell) => cell.textContent!.length)).toBe(1_000_000);
  await expectHarmless(page);
});

test("content that is too large to show says so and requires a confirmation", async () => {
  await stage.hold("huge.txt", "y".repeat(1_200_000));
  const page = await stage.page();
  await page.getByText("too large to show here").waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await page.getByText("The new content is not shown").waitFor();
});

test("a binary file is shown by size and hash", async () => {
  const content = Buffer.from([0, 255, 1, 2]).toString("base64");
  const { id } = await stage.submit("write_file", {
    path: "src/a.bin",
    content,
    encoding: "base64",
  });
  const page = await stage.page();
  await page.getByText("not text: compare size and hash").waitFor();
  await page.getByText((await stage.detail(id)).after_sha256!).waitFor();
});

test("line endings, a missing last newline and the mode are shown", async () => {
  stage.write("src/dos.txt", "a\r\nb\r\n", "my-app", 0o755);
  await stage.hold("dos.txt", "a\nb");
  const page = await stage.page();
  await page.getByText("line endings CRLF → LF").waitFor();
  await page.getByText("loses its last newline").waitFor();
  await page.getByText("stays executable (0755)").waitFor();
  expect(await page.locator(".line-del .chip", { hasText: "[U+000D]" }).count()).toBe(2);
});

// No script ran, nothing is invisible, and nothing is wider than the window.
async function expectHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const invisible = /(?!\n|\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0]/u;
    return {
      pwned: "pwned" in globalThis,
      invisible: document.body.innerText.match(invisible)?.[0] ?? null,
      elements: document.querySelectorAll("#app script, #app img, #app iframe, [onerror], [onload]")
        .length,
      styles: document.querySelectorAll("[style]").length,
      overflow: document.documentElement.scrollWidth > innerWidth,
    };
  });
  expect(found).toEqual({ pwned: false, invisible: null, elements: 0, styles: 0, overflow: false });
}

function encodeName(text: string): string {
  return text.replaceAll("/", "_");
}
