import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { headline, Stage } from "./stage.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const decide = (id: string, verb: "approve" | "reject", body = {}) =>
  stage.api("POST", `/api/actions/${id}/${verb}?project=my-app`, body);

test("the card has the session before it, and what people decided about the same file", async () => {
  const no = await stage.hold("a.ts", "wrong\n", { agent: "other" });
  await decide(no.id, "reject", { reason: "not like this" });
  const yes = await stage.hold("a.ts", "1\n2\n3\n");
  await decide(yes.id, "approve");
  await stage.submit("write_file", { path: "free/b.ts", content: "allowed\n" });
  stage.write("src/a.ts", "1\nby hand\n3\n");
  const held = await stage.hold("a.ts", "1\n2\n3\n4\n");
  const page = await stage.page(`/approvals?project=my-app&id=${held.id}`);
  await headline(page, "src/a.ts");
  const [session, decided] = [0, 1].map((at) => page.locator(".context > div").nth(at));
  await session!.getByText("allowed").waitFor();
  expect(await session!.locator("li .sentence").allTextContents()).toEqual([
    "Write free/b.ts",
    "Write src/a.ts",
  ]);
  expect(await decided!.locator("li .badge").allTextContents()).toEqual(["approved", "rejected"]);
  await decided!.getByText("not like this").waitFor();
  await decided!.getByText("Compare with the version that a person approved last").click();
  const diff = decided!.locator(".diff");
  await diff.waitFor();
  expect(await diff.locator("tr.line-add, tr.line-del").count()).toBe(1);
  await session!.locator("a", { hasText: "b.ts" }).click();
  await headline(page, "free/b.ts");
  expect(await page.locator(".context").count()).toBe(0);
});

test("a command has the decisions about the same program and first word", async () => {
  const first = await stage.submit("run_command", { command: "npm publish --tag old" });
  await decide(first.id, "reject");
  const other = await stage.submit("run_command", { command: "npm version major" });
  await decide(other.id, "reject");
  const held = await stage.submit("run_command", { command: "npm publish --tag next" });
  const page = await stage.page(`/approvals?project=my-app&id=${held.id}`);
  await headline(page, "npm publish --tag next");
  const decided = page.locator(".context > div").nth(1);
  await decided.getByText("rejected").first().waitFor();
  expect(await decided.locator("li .sentence").allTextContents()).toEqual([
    "Run npm publish --tag old",
  ]);
});

test("a card without a past says so, and a file that is as approved needs no comparison", async () => {
  const first = await stage.hold("new.ts", "1\n", { agent: "fresh" });
  const page = await stage.page(`/approvals?project=my-app&id=${first.id}`);
  await page.getByText("It is the first action of its session.").waitFor();
  await page.getByText("Nobody has decided about it before.").waitFor();
  await decide(first.id, "approve");
  const second = await stage.hold("new.ts", "1\n2\n", { agent: "fresh" });
  await page.goto(`${stage.gate.url}/approvals?project=my-app&id=${second.id}`);
  await page.getByText("The file is as a person approved it last.").waitFor();
});
