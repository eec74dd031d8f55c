import { describe, expect, test } from "vitest";
import { draftCommands, draftPaths } from "../../../server/trials/generalise.ts";
import { PolicySuggestions } from "../../../server/trials/schema.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";

const SINCE = "2000-01-01T00:00:00.000Z";

async function ask(gate: TestGate, method: string, path: string, body?: unknown) {
  return await (await gate.request(method, path, body)).json();
}

async function decide(gate: TestGate, verb: string, tool: string, input: Record<string, unknown>) {
  const { id, status } = await ask(gate, "POST", "/api/actions", { tool, input });
  expect(status).toBe("pending");
  await ask(gate, "POST", `/api/actions/${id}/${verb}`, { reason: "so" });
  return id as string;
}

const write = (gate: TestGate, verb: string, path: string) =>
  decide(gate, verb, "write_file", { path, content: "x" });
const run = (gate: TestGate, verb: string, command: string) =>
  decide(gate, verb, "run_command", { command });

const suggest = async (gate: TestGate) =>
  PolicySuggestions.parse(await ask(gate, "POST", "/api/policy/suggest", { since: SINCE }));

const patternsOf = ({ suggestions }: PolicySuggestions) =>
  suggestions.map(({ entry }) => typeof entry === "string" ? entry : entry.pattern);

describe("POST /api/policy/suggest", () => {
  test("what was always approved becomes a rule, scored on the newer half", async () => {
    const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
    for (let at = 0; at < 10; at++) {
      await write(gate, "approve", `docs/guide/page${at}.md`);
      await run(gate, "approve", `npm run test -- --shard=${at}`);
    }
    const found = await suggest(gate);
    expect(found).toMatchObject({ asked: 20, approved: 20, rejected: 0, older: 10, newer: 10 });
    expect(patternsOf(found).sort()).toEqual(["docs/guide/*.md", "npm run test *"]);
    expect(found.prompts_saved).toBe(10);
    for (const one of found.suggestions) {
      expect(one).toMatchObject({ learned_from: 5, prompts_saved: 5, rejected_let_through: 0 });
    }
    // As printed they can be written, and they do what was said of them.
    const lists = { allowedPaths: [] as unknown[], allowedCommands: [] as unknown[] };
    for (const { list, entry } of found.suggestions) lists[list].push(entry);
    expect((await gate.request("PUT", "/api/config/policies", lists)).status).toBe(200);
    const after = await ask(gate, "POST", "/api/policy/replay", { since: SINCE });
    expect(after.totals).toMatchObject({ newly_allowed: 20, rejected_now_allowed: 0 });
  });

  test("what was asked before the clock was set back counts too", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "ask", allowedCommands: ["ls"] },
    });
    const since = new Date(gate.clock.now).toISOString();
    for (let at = 0; at < 4; at++) await write(gate, "approve", `docs/guide/${at}.md`);
    gate.clock.advance(-86_400_000);
    const read = (at: number) => ({ tool: "run_command", input: { command: `ls ${at}` } });
    for (let at = 0; at < 500; at++) await ask(gate, "POST", "/api/actions", read(at));
    gate.clock.advance(2 * 86_400_000);
    for (let at = 4; at < 8; at++) await write(gate, "approve", `docs/guide/${at}.md`);
    expect(await ask(gate, "POST", "/api/policy/suggest", { since }))
      .toMatchObject({ asked: 8, approved: 8, truncated: false });
  });

  test("what people decided counts, however much the policy allowed since", async () => {
    const gate = await createTestGate({
      policies: { defaultEffect: "ask", allowedCommands: ["ls"] },
    });
    for (let at = 0; at < 6; at++) await write(gate, "approve", `docs/guide/${at}.md`);
    const allowed = { tool: "run_command", input: { command: "ls" } };
    const { id } = await ask(gate, "POST", "/api/actions", allowed);
    await repeat(gate, id, 45_000);
    const found = await suggest(gate);
    expect(found).toMatchObject({ asked: 6, approved: 6, truncated: false });
    expect(patternsOf(found)).toEqual(["docs/guide/*.md"]);
  });

  test("one rejection in either half, and no rule that covers it is offered", async () => {
    for (const early of [true, false]) {
      const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
      if (early) await write(gate, "reject", "lib/core/secret.ts");
      for (let at = 0; at < 10; at++) await write(gate, "approve", `lib/gen/page${at}.ts`);
      if (!early) await write(gate, "reject", "lib/core/secret.ts");
      const found = await suggest(gate);
      expect(patternsOf(found)).toEqual(["lib/gen/*.ts"]);
      expect(found.turned_down.map(({ pattern }) => pattern)).toContain("lib/**/*.ts");
    }
  });

  test("a habit that ended is no rule", async () => {
    const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
    for (let at = 0; at < 5; at++) await write(gate, "approve", `old/page${at}.ts`);
    for (let at = 0; at < 5; at++) await write(gate, "approve", `new/page${at}.rs`);
    expect(patternsOf(await suggest(gate))).toEqual([]);
  });

  test.each([
    ["never automatic", "write_file", (at: number) => ({ path: `.git/x${at}`, content: "x" })],
    [
      "never automatic",
      "write_file",
      (at: number) => ({ path: `.vscode/${at}.json`, content: "" }),
    ],
    ["destructive", "run_command", (at: number) => ({ command: `rm -rf build/${at}` })],
    ["destructive", "run_command", (at: number) => ({ command: `git push origin b${at}` })],
    ["destructive", "run_command", (at: number) => ({ command: `git reset --hard v${at}` })],
    ["far-reaching", "run_command", (at: number) => ({ command: `kubectl apply -f x${at}.yaml` })],
    ["far-reaching", "run_command", (at: number) => ({ command: `npm publish ./p${at}` })],
    ["other code", "run_command", (at: number) => ({ command: `python3 build.py ${at}` })],
    ["other code", "run_command", (at: number) => ({ command: `bash run.sh ${at}` })],
    ["a hidden file", "write_file", (at: number) => ({ path: `.env.d/${at}`, content: "x" })],
  ])("%s: %s is never suggested", async (_why, tool, input) => {
    const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
    for (let at = 0; at < 8; at++) await decide(gate, "approve", tool, input(at));
    expect(patternsOf(await suggest(gate))).toEqual([]);
  });

  test("deleting makes no rule", async () => {
    const files = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`tmp/${at}.txt`, "x"]));
    const gate = await createTestGate({ policies: { defaultEffect: "ask" }, files });
    for (const path of Object.keys(files)) await decide(gate, "approve", "delete_file", { path });
    expect(patternsOf(await suggest(gate))).toEqual([]);
  });
});

test.each([
  ["src/a/b.ts", ["src/a/*.ts", "src/a/**/*.ts", "src/a/**", "src/**/*.ts", "src/**"]],
  ["README.md", []],
  ["/etc/hosts", []],
  ["src/.env", []],
  ["src/a*/b.ts", []],
  ["a/b", ["a/**"]],
])("a path as rules: %s", (path, patterns) => {
  expect(draftPaths(path).map(({ pattern }) => pattern)).toEqual(patterns);
});

test.each([
  [["git", "status", "-s"], ["git status -s", "git status *"]],
  [["npm", "run", "build", "--", "-v"], ["npm run build -- -v", "npm run build *"]],
  [["mytool", "check"], ["mytool check"]],
  [["mytool", "--force"], []],
  [["mytool", "delete", "x"], []],
  [["git", "push"], []],
  [["git", "commit", "-m", "two words"], []],
  [["/usr/bin/mytool"], []],
  [["sudo", "ls"], []],
  [["sh", "-c", "ls"], []],
  [["find", ".", "-delete"], []],
])("a command as rules: %j", (argv, patterns) => {
  expect(draftCommands([argv]).map(({ pattern }) => pattern)).toEqual(patterns);
});

/** Adds copies of an action to the ledger. */
async function repeat({ project: { ledger } }: TestGate, id: string, times: number) {
  const own: Record<string, string> = {
    ...{ id: "id || n", seq: "seq + n", number: "number + n", digest: "n" },
  };
  const columns = (await ledger.all("SELECT name FROM pragma_table_info('actions')"))
    .map(({ name }) => String(name));
  const sql = `WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ?)
    INSERT INTO actions (${columns}) SELECT ${columns.map((name) => own[name] ?? name)}
      FROM actions, many WHERE id = ?`;
  await ledger.commit({ statements: [{ sql, args: [times, id] }], events: [] });
}
