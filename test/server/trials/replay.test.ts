import { describe, expect, test } from "vitest";
import type { PolicyReplayPage } from "../../../server/trials/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";

const POLICIES = {
  maxHeldPerSession: 1_000,
  defaultEffect: "ask" as const,
  allowedPaths: ["src/**"],
  blockedPaths: [".env"],
  allowedCommands: ["ls", "git push *"],
};
const SINCE = "2000-01-01T00:00:00.000Z";

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  return await (await gate.request(method, path, body)).json();
}

const submit = (gate: TestGate, tool: string, input: Record<string, unknown>) =>
  ask(gate, "POST", "/api/actions", { tool, input });
const write = (gate: TestGate, path: string) => submit(gate, "write_file", { path, content: "x" });

async function replay(gate: TestGate, body: Record<string, unknown>): Promise<PolicyReplayPage> {
  const answer = await gate.request("POST", "/api/policy/replay", { since: SINCE, ...body });
  expect(answer.status).toBe(200);
  return await answer.json();
}

/** Some of everything that can be recorded. */
async function makeHistory() {
  const gate = await createTestGate({ policies: POLICIES });
  const free = await write(gate, "src/a.ts");
  const held = await write(gate, "docs/a.md");
  const rejected = await write(gate, "docs/b.md");
  await ask(gate, "POST", `/api/actions/${held.id}/approve`, {});
  await ask(gate, "POST", `/api/actions/${rejected.id}/reject`, { reason: "no" });
  const blocked = await write(gate, ".env");
  const pushed = await submit(gate, "run_command", { command: "git push origin main" });
  return { gate, free, held, rejected, blocked, pushed };
}

describe("POST /api/policy/replay", () => {
  test("the policies in force would do again what they did", async () => {
    const { gate } = await makeHistory();
    expect(await replay(gate, {})).toMatchObject({
      checked: 5,
      totals: { newly_blocked: 0, newly_asked: 0, newly_allowed: 0, prompts_saved: 0 },
      rules: [],
      unjudged: [],
      next_cursor: null,
    });
  });

  test("what a grant has answered is no change, unless it would be blocked", async () => {
    const { gate } = await makeHistory();
    const { id } = await write(gate, "docs/c.md");
    const remember = { scope: "project", ttl_seconds: 60, max_uses: 5, pattern: "docs/**" };
    await ask(gate, "POST", `/api/actions/${id}/approve`, { remember });
    expect((await write(gate, "docs/d.md")).decision.grant_id).toBeDefined();
    expect((await replay(gate, {})).totals).toMatchObject({ newly_asked: 0, newly_blocked: 0 });
    const blocked = await replay(gate, { policies: { blockedPaths: ["docs/d.md"] } });
    expect(blocked.totals).toMatchObject({ newly_blocked: 1 });
  });

  test("a stricter policy: what it blocks and asks, by rule, with examples", async () => {
    const { gate, free, pushed } = await makeHistory();
    const page = await replay(gate, {
      policies: { blockedCommands: ["git push"], askPaths: ["src/**"] },
    });
    expect(page.totals).toMatchObject({ newly_blocked: 1, newly_asked: 1, newly_allowed: 0 });
    const byPattern = new Map(page.rules.map((one) => [one.rule?.pattern, one]));
    expect(byPattern.get("git push")).toMatchObject({
      newly_blocked: 1,
      examples: [{ id: pushed.id, what: "git push origin main", was: "allow", now: "deny" }],
    });
    expect(byPattern.get("src/**")).toMatchObject({
      newly_asked: 1,
      examples: [{ id: free.id, rule_before: { pattern: "src/**", list: "allowedPaths" } }],
    });
  });

  test("a laxer policy: prompts saved, and what a person had rejected comes first", async () => {
    const { gate, held, rejected } = await makeHistory();
    const { totals, rules } = await replay(gate, {
      policies: { allowedPaths: ["src/**", "docs/**"] },
    });
    expect(totals).toEqual({
      newly_blocked: 0,
      newly_asked: 0,
      newly_allowed: 2,
      prompts_saved: 2,
      rejected_now_allowed: 1,
    });
    expect(rules[0]!.examples.map(({ id }) => id)).toEqual([rejected.id, held.id]);
  });

  test("whole policies take the place of the project's, the builtin ones stay", async () => {
    const { gate, blocked } = await makeHistory();
    const page = await replay(gate, { whole: true, policies: { defaultEffect: "allow" } });
    expect(page.totals).toMatchObject({ newly_allowed: 3, newly_blocked: 0 });
    const examples = page.rules.flatMap((one) => one.examples);
    expect(examples.find(({ id }) => id === blocked.id)).toMatchObject({ was: "deny" });
  });

  test("it goes on page by page and stops at the time that was asked for", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const old = await write(gate, "docs/old.md");
    gate.clock.advance(86_400_000);
    const since = new Date(gate.clock.now).toISOString();
    for (let at = 0; at < 205; at++) await write(gate, `docs/${at}.md`);
    const policies = { blockedPaths: ["docs/**"] };
    const pages = [await replay(gate, { since, policies })];
    while (pages.at(-1)!.next_cursor) {
      pages.push(await replay(gate, { since, policies, cursor: pages.at(-1)!.next_cursor }));
    }
    expect(pages.map(({ checked }) => checked)).toEqual([200, 5]);
    expect(pages.reduce((sum, { totals }) => sum + totals.newly_blocked, 0)).toBe(205);
    expect(JSON.stringify(pages)).not.toContain(old.id);
  });

  test("nothing is left out where the clock was once set back", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const begin = gate.clock.now;
    for (let at = 0; at < 10; at++) await write(gate, `docs/first/${at}.md`);
    gate.clock.advance(-86_400_000 * 365);
    for (let at = 0; at < 205; at++) await write(gate, `docs/wrong/${at}.md`);
    gate.clock.advance(86_400_000 * 366);
    for (let at = 0; at < 3; at++) await write(gate, `docs/last/${at}.md`);
    const asked = { since: new Date(begin).toISOString(), policies: { blockedPaths: ["docs/**"] } };
    const pages = [await replay(gate, asked)];
    for (let cursor = pages[0]!.next_cursor; cursor; cursor = pages.at(-1)!.next_cursor) {
      pages.push(await replay(gate, { ...asked, cursor }));
    }
    expect(pages.map(({ checked }) => checked)).toEqual([3, 10]);
    expect(pages.every(({ reached }) => reached! >= asked.since)).toBe(true);
  });

  test("what was redacted or is not judged by rules is said, not guessed", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const call = { owner: "me", api_key: "abc", repo: "prod-1" };
    const secret = await submit(gate, "mcp__github__create_repo", call);
    await submit(gate, "mcp__github__list", { owner: "me" });
    const { id } = await write(gate, "src/a.ts");
    await submit(gate, "rollback", { action_id: id });
    const looking = { pattern: "mcp__github__*", args: { repo: "prod-*" } };
    const page = await replay(gate, { policies: { blockedTools: [looking] } });
    expect(page.unjudged).toEqual(expect.arrayContaining([
      { why: expect.stringContaining("redacted or cut"), count: 1, examples: [secret.id] },
      { why: expect.stringContaining("rollback"), count: 1, examples: [expect.any(String)] },
    ]));
    expect(page.totals.newly_blocked).toBe(0);
    const plain = await replay(gate, { policies: { blockedTools: ["mcp__github__*"] } });
    expect(plain.totals.newly_blocked).toBe(2);
  });

  test.each([
    [{ policies: { blockedPaths: ["a{{{"], allowedPaths: ["../policy/x"] } }, 400],
    [{ policies: { blockedCommands: [{ pattern: "rm", match: ["ls"] }] } }, 400],
    [{ since: "yesterday" }, 400],
    [{ cursor: "-1" }, 400],
    [{ unknown: 1 }, 400],
  ])("%j is refused", async (body, status) => {
    const gate = await createTestGate({ policies: POLICIES });
    const answer = await gate.request("POST", "/api/policy/replay", { since: SINCE, ...body });
    expect(answer.status).toBe(status);
  });

  test("nothing is recorded by it", async () => {
    const { gate } = await makeHistory();
    const before = (await gate.audit()).length;
    await replay(gate, { policies: { blockedPaths: ["**"] } });
    expect(await gate.audit()).toHaveLength(before);
  });
});
