import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { headline, settled, Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => void (stage = await Stage.open()));
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

test("blanks can be skipped; the address keeps it, and an approval then warns of what is unread", async () => {
  stage.write("src/a.py", "if x:\n  one()\ntwo()\n");
  const { id } = await stage.hold("a.py", "if x:\n    one()\n    two()\nthree()\n");
  const page = await stage.page(`/approvals?id=${id}`);
  await headline(page, "a.py");
  await settled(page);
  const file = page.getByRole("region", { name: "Changes", exact: true });
  expect(await file.locator("tr.line-add").count()).toBe(3);
  const skip = file.getByRole("button", { name: "Skip blanks" });
  await skip.focus();
  await skip.press("Enter");
  await file.getByText("2 with other spaces or tabs not marked").waitFor();
  expect(await file.locator("tr.line-add").count()).toBe(1);
  expect(page.url()).toContain("blanks=skipped");
  await page.reload();
  await file.getByText("2 with other spaces or tabs not marked").waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await page.getByRole("group", { name: "Before you approve" }).waitFor();
  await page.keyboard.press("Escape");
  await file.getByRole("button", { name: "Skip blanks" }).click();
  await expect.poll(() => file.locator("tr.line-add").count()).toBe(3);
  expect(page.url()).not.toContain("blanks");
});
