import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGood, expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { POLICIES, Stage, until } from "./stage.ts";

const LIMITS = { maxDenialsPerSession: 3, maxChangedFilesPerSession: 4, maxDeletionsPerSession: 2 };

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "docs-site"]);
  const policies = { ...POLICIES, ...LIMITS };
  stage.write("gate.config.json", JSON.stringify({ id: "my-app", policies }));
  const { outside_changes } = await stage.api("GET", "/api/config?project=my-app");
  for (const { path, after_sha256: sha256, number } of outside_changes) {
    await stage.api("POST", "/api/config/accept?project=my-app", { path, sha256, number });
  }
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const part = (page: Page, name: string) => page.getByRole("region", { name });

/** A session of this agent that policy denied so often that gate blocked it. */
async function blocked(agent: string): Promise<string> {
  let session = "";
  for (let n = 0; n < LIMITS.maxDenialsPerSession; n++) {
    session = (await stage.submit("write_file", { path: ".env", content: `${n}` }, { agent }))
      .session_id;
  }
  return session;
}

async function listBlocks(): Promise<{ id: string }[]> {
  return (await stage.api("GET", "/api/remediation/blocks?project=my-app")).items;
}

test("nothing is blocked: the page says so, and when it would be", async () => {
  const page = await stage.page("/remediation?project=my-app");
  await part(page, "Blocks").getByText("Nothing is blocked").waitFor();
  await part(page, "Blocks").getByText("after 3 denials").waitFor();
  await page.getByText("No agent has connected yet").waitFor();
  await expectGood(page, "remediation_empty");
});

test("a blocked session is told, explained by its findings, and lifted by key with a reason", async () => {
  const session = await blocked("wild");
  const page = await stage.page("/approvals?project=my-app");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  const block = page.getByRole("listitem", { name: "Block of wild" });
  await block.getByText("Policy has denied 3 of its actions").waitFor();
  await block.getByText(/ends in/).waitFor();
  await block.getByText("within 10 minutes").waitFor();
  await page.getByRole("list", { name: "Sessions" }).getByText("Write .env").waitFor();
  const evaluation = part(page, "The session");
  await evaluation.getByRole("heading", { name: "4 findings" }).waitFor();
  await evaluation.getByText("gate blocked it", { exact: false }).first().waitFor();
  await evaluation.locator("summary", { hasText: "The policy denied it" }).click();
  expect(await evaluation.getByText("secrets stay with people").count()).toBe(3);
  await evaluation.getByText(/^gate has blocked it: /).waitFor();
  await block.getByRole("button", { name: "Lift the block" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("it has read the rules now");
  await page.keyboard.press("Enter");
  await page.getByText("its sessions may submit again").waitFor();
  await block.getByText("ended").waitFor();
  expect(await listBlocks()).toEqual([]);
  const { items } = await stage.api("GET", "/api/audit/events?project=my-app&type=block.removed");
  expect(items[0]).toMatchObject({
    session_id: session,
    actor: { kind: "reviewer" },
    data: { reason: "it has read the rules now" },
  });
  const allowed = await stage.submit("write_file", { path: "free/a.ts", content: "1\n" }, {
    agent: "wild",
  });
  expect(allowed.status).toBe("approved");
});

test("a budget is shown as it is spent, and the page says when the session has gone on", async () => {
  const path = (n: number) => ({ path: `free/b${n}.ts`, content: "12345\n" });
  const write = (n: number) => stage.submit("write_file", path(n), { agent: "spender" });
  const { session_id } = await write(0);
  await write(1);
  const page = await stage.page(`/remediation?project=my-app&session=${session_id}`);
  const budget = part(page, "Budget");
  await budget.getByText("2 of 4").waitFor();
  await budget.getByText("12 bytes of").waitFor();
  await part(page, "Findings").getByText("Nothing in this session is against the rules").waitFor();
  await write(2);
  await write(3);
  await page.getByText("it has gone on since").waitFor();
  await budget.getByText("2 of 4").waitFor();
  await page.getByRole("button", { name: "Evaluate again" }).click();
  await budget.getByText("4 of 4, spent").waitFor();
  const held = await write(4);
  expect(held.status).toBe("pending");
});

test("what is recommended is done from the page: reject, roll back, end", async () => {
  const agent = "careless";
  const made = await stage.submit("write_file", { path: "free/c.ts", content: "1\n" }, { agent });
  const held = await stage.hold("c.ts", "1\n", { agent });
  await stage.submit("write_file", { path: ".env", content: "1" }, { agent });
  const page = await stage.page(`/remediation?project=my-app&session=${made.session_id}`);
  const way = (name: string) => page.getByRole("listitem", { name });
  await way("Reject what it has submitted").getByRole("button").click();
  await way("Reject what it has submitted").getByText("The agent is told").waitFor();
  await way("Reject what it has submitted").getByRole("button", { name: "Reject" }).click();
  await page.getByText("Rejected 1 action").waitFor();
  await until("it is rejected", async () => (await stage.detail(held.id)).status === "rejected");
  await way("Reject what it has submitted").waitFor({ state: "detached" });
  await way("Roll back the whole session").getByRole("button").click();
  await page.getByText("1 action would be rolled back").waitFor();
  expect((await stage.detail(made.id)).status).toBe("approved");
  await expectGood(page, "remediation_preview");
  await way("Roll back the whole session").getByRole("button", { name: "Roll back", exact: true })
    .click();
  await page.getByText("Rolled back 1 action").waitFor();
  expect((await stage.detail(made.id)).status).toBe("rolled_back");
  await way("End the session").getByRole("button").click();
  await way("End the session").getByRole("button", { name: "End the session", exact: true })
    .click();
  await page.getByText("The session has ended").waitFor();
  const session = await stage.api("GET", `/api/sessions/${made.session_id}?project=my-app`);
  expect(session.ended_at).not.toBeNull();
});

test("new sessions and blocks wait until they are asked for, and move nothing", async () => {
  const page = await stage.page("/remediation?project=my-app");
  const rows = page.locator(".remediation-sessions .list-row");
  await rows.first().waitFor();
  const before = await rows.allTextContents();
  const place = await part(page, "The session").boundingBox();
  await blocked("late");
  await page.getByRole("button", { name: "Show 1 new session" }).waitFor();
  await page.getByRole("button", { name: "Show 1 new block" }).waitFor();
  expect(await rows.count()).toBe(before.length);
  expect(await part(page, "The session").boundingBox()).toEqual(place);
  await page.keyboard.press(".");
  await page.getByRole("listitem", { name: "Block of late" }).waitFor();
  expect(await rows.count()).toBe(before.length + 1);
  await page.keyboard.press("j");
  await page.waitForURL(/session=/);
  await page.keyboard.press("o");
  await page.waitForURL(/\/sessions\//);
  for (const { id } of await listBlocks()) {
    await stage.api("POST", `/api/remediation/blocks/${id}/unblock?project=my-app`, {});
  }
});

test("what cannot be read says so", async () => {
  const page = await stage.page();
  await page.route("**/api/remediation/evaluate-policy*", (route) => route.abort());
  await page.goto(`${stage.gate.url}/remediation?project=my-app`);
  await page.getByText("The session could not be evaluated").waitFor();
  await page.route("**/api/remediation/blocks*", (route) => route.abort());
  await page.reload();
  await page.getByText("Blocks and sessions could not be read").waitFor();
});

test(
  "axe finds nothing and nothing is too wide, in each theme and width",
  async () => {
    const session = await blocked(HOSTILE);
    const query = `project=my-app&session=${session}`;
    const page = await stage.page(`/remediation?${query}`);
    await part(page, "Budget").waitFor();
    await expectGoodInEachLook(page, "remediation");
    await page.getByRole("button", { name: "Lift the block" }).first().click();
    await page.locator(".remediation-session").evaluate((element) => element.scrollIntoView());
    await expectGoodInEachLook(page, "remediation_lift");
    await page.goto(`${stage.gate.url}/remediation`);
    await page.locator(".remediation-session h4").first().waitFor();
    await expectGoodInEachLook(page, "remediation_all");
  },
);
