import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

let stage: Stage;
const ids: Record<string, string> = {};
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
  stage.write(".git/HEAD", "ref: refs/heads/fix/login\n");
  ids["named"] = await begin("codex");
  await ask("write_file", { path: "free/a.ts", content: "a\n" }, ids["named"]);
  await ask("write_file", { path: ".env", content: "KEY=1\n" }, ids["named"]);
  stage.write(".git/HEAD", "ref: refs/heads/main\n");
  ids["everyday"] = await begin("gemini");
  await ask("run_command", { command: `echo ${HOSTILE}` }, ids["everyday"]);
  ids["ended"] = await begin(HOSTILE.slice(0, 60), "billing-api");
  await stage.api("POST", `/api/sessions/${ids["ended"]}/end?project=billing-api`, {}, "agent");
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

async function begin(agent: string, project = "my-app"): Promise<string> {
  const body = { agent, host: "codex", client: "codex 1" };
  return (await stage.api("POST", `/api/sessions?project=${project}`, body, "agent")).id;
}

async function ask(tool: string, input: Record<string, unknown>, session_id: string) {
  const body = { tool, input, session_id };
  await stage.api("POST", "/api/actions?project=my-app", body, "agent");
}

test("a session is named by its branch or its first action, with what became of each", async () => {
  const page = await stage.page("/sessions");
  const row = (id: string) => page.locator("tbody tr", { has: page.locator(`[data-id="${id}"]`) });
  const named = row(ids["named"]!);
  await named.getByText("fix/login").waitFor();
  await named.getByText("Write free/a.ts").waitFor();
  await named.getByRole("img", { name: "1 allowed, 1 blocked" }).waitFor();
  // Each outcome has a shape of its own, so that its colour is not the only sign.
  const shapes = await named.locator(".outcomes path").evaluateAll((marks) =>
    marks.map((mark) => mark.getAttribute("d")!.replace(/^M\d+/, ""))
  );
  expect(shapes).toEqual([" 7h2V12h-2z", " 0h2V12h-2z"]);
  const everyday = row(ids["everyday"]!);
  await everyday.getByText("Run echo <img").waitFor();
  expect(await everyday.getByText("main", { exact: true }).count()).toBe(0);
  await row(ids["ended"]!).getByText("No action yet").waitFor();
  await row(ids["ended"]!).getByText("ended").waitFor();
  await named.locator(".row-link").click();
  await page.getByRole("heading", { name: "fix/login" }).waitFor();
});

test("sessions are filtered by state and agent; one without an action for long is idle", async () => {
  const page = await stage.page("/sessions");
  const links = page.locator("tbody .row-link");
  await page.getByLabel("State").selectOption("ended");
  await until("one session has ended", async () => await links.count() === 1);
  expect(await links.getAttribute("data-id")).toBe(ids["ended"]);
  await page.getByLabel("State").selectOption("idle");
  await page.getByText("No session matches these filters").waitFor();
  stage.clock.ahead_ms = 20 * 60_000;
  await page.getByRole("link", { name: "Show all sessions" }).click();
  await until("all are there", async () => await links.count() >= 3);
  await page.getByLabel("State").selectOption("idle");
  await until("two are idle", async () => await links.count() === 2);
  await page.getByLabel("Agent").fill("gemini");
  await page.keyboard.press("Enter");
  await until("one is of that agent", async () => await links.count() === 1);
  expect(new URL(page.url()).search).toContain("state=idle&agent=gemini");
  stage.clock.ahead_ms = 0;
});

test("the list and a session are good in each theme and width", async () => {
  const page = await stage.page("/sessions");
  await page.locator(`[data-id="${ids["named"]}"]`).waitFor();
  await expectGoodInEachLook(page, "sessions");
  await page.locator(`[data-id="${ids["everyday"]}"]`).click();
  await page.getByText("The whole session").waitFor();
  await expectGoodInEachLook(page, "session");
});

test("a conflict stands in three columns, in each theme and width", async () => {
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
  stage.write("free/three.ts", `${lines.join("\n")}\n`);
  const edited = lines.with(20, `agent ${HOSTILE}`);
  const input = { path: "free/three.ts", content: `${edited.join("\n")}\n` };
  const { id } = await stage.submit("write_file", input);
  stage.write("free/three.ts", `${edited.with(21, "a later line").join("\n")}\n`);
  const page = await stage.page(`/actions/${id}?project=my-app`);
  await page.getByRole("button", { name: "Roll back" }).click();
  const three = page.getByRole("region", { name: "Three states of free/three.ts" });
  await three.getByRole("columnheader", { name: "After the agent" }).waitFor();
  await three.locator(".three-del", { hasText: "line 20" }).waitFor();
  await three.locator(".three-add", { hasText: "agent <img" }).waitFor();
  await three.locator(".three-new", { hasText: "a later line" }).waitFor();
  await three.getByText("17 equal lines").waitFor();
  await expectGoodInEachLook(page, "three");
});
