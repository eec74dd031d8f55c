import fc from "fast-check";
import { expect, test } from "vitest";
import { createRoutes } from "../../server/app.ts";
import { listOperations } from "../../server/route.ts";
import { createTestGate } from "../helpers.ts";

const operations = listOperations(createRoutes().routes)
  .filter(({ path }) => path.startsWith("/api/") && path !== "/api/events")
  .map(({ method, path }) => `${method} ${path}`);

const STRINGS = [
  "",
  "\0",
  "a\0b",
  "\ud800",
  "\u202e",
  "../../etc/passwd",
  "/",
  ".",
  "~",
  "held/a.txt",
  ".env",
  "%00",
  "'; DROP TABLE actions;--",
  "x".repeat(5_000),
  "é".repeat(300),
  "write_file",
  "run_command",
  "rollback",
  "mcp__x__y",
  "rm -rf /",
  "$((",
  "<<EOF",
  "-1",
  "1e309",
  "__proto__",
  "constructor",
];

const word = fc.oneof(fc.constantFrom(...STRINGS), fc.string({ unit: "binary", maxLength: 20 }));
const leaf = fc.oneof(
  word,
  fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308),
);
/** Names that the routes know, so that bodies get past the first check. */
const KEYS = [
  "tool",
  "input",
  "path",
  "content",
  "encoding",
  "edits",
  "old_text",
  "new_text",
  "from",
  "to",
  "command",
  "cwd",
  "session_id",
  "wait_ms",
  "action",
  "reason",
  "expected_digest",
  "remember",
  "scope",
  "ttl_seconds",
  "max_uses",
  "root",
  "name",
  "id",
  "workspace",
  "agent",
  "host",
  "claim_id",
  "exit_code",
  "output",
  "truncated",
  "duration_ms",
  "on_conflict",
  "action_id",
  "pattern",
];
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("json"), { maxKeys: 6 }),
  ),
}));

/** Bodies that are right in shape, with hostile values. */
const shaped = fc.oneof(
  fc.record({
    tool: fc.constantFrom("write_file", "read_file", "delete_file", "WebFetch", "rollback"),
    input: fc.oneof(
      fc.record({ path: word, content: word }),
      fc.record({ path: word }),
      fc.record({ action_id: word }),
      fc.dictionary(word, leaf, { maxKeys: 3 }),
    ),
  }),
  fc.record({ tool: fc.constant("run_command"), input: fc.record({ command: word, cwd: word }) }),
  fc.record({ tool: fc.constant("move_file"), input: fc.record({ from: word, to: word }) }),
  fc.record({
    tool: fc.constant("edit_file"),
    input: fc.record({
      path: word,
      edits: fc.array(fc.record({ old_text: word, new_text: word }), { maxLength: 3 }),
    }),
  }),
  fc.record({ path: word, action: fc.constantFrom("write", "read", "delete", "command", "x") }),
  fc.record({ agent: word, host: word, client: word, root: word }),
  fc.record({ root: word }),
  fc.record({ reason: word }),
  fc.record({ action_id: word, pattern: word }),
  fc.record({
    remember: fc.record({
      scope: fc.constantFrom("session", "project"),
      ttl_seconds: fc.constantFrom(1, 3600),
      max_uses: fc.constantFrom(1, 10),
      pattern: word,
    }),
  }),
  fc.record({ content: word, reason: word }),
);

const query = fc.dictionary(
  fc.constantFrom("project", "limit", "cursor", "status", "tool", "agent", "path", "count", "x"),
  word,
  { maxKeys: 3 },
);

const request = fc.record({
  operation: fc.constantFrom(...operations),
  body: fc.oneof(json, shaped),
  query,
  id: fc.oneof(word, fc.constantFrom("HELD", "DONE", "SESSION")),
});

function addressOf(path: string, id: string, given: Record<string, string>): string {
  const search = new URLSearchParams(given).toString();
  const part = encodeURIComponent(id.replaceAll(/\p{Surrogate}/gu, "")).replaceAll(".", "%2E") ||
    "x";
  return path.replaceAll(/\{\w+\}/g, part) + (search ? `?${search}` : "");
}

test("nothing a client sends is answered with 500", async () => {
  const gate = await createTestGate({
    policies: { defaultEffect: "allow", askPaths: ["held/**"], askCommands: ["*"] },
  });
  const submit = async (path: string) => {
    const body = { tool: "write_file", input: { path, content: "x" } };
    return await (await gate.request("POST", "/api/actions", body)).json();
  };
  const held = await submit("held/a.txt");
  const done = await submit("a.txt");
  const known = new Map(Object.entries({
    HELD: held.id,
    DONE: done.id,
    SESSION: held.session_id,
  }));
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(request, async ({ operation, body, query, id }) => {
      const [method = "", path = ""] = operation.split(" ");
      const address = addressOf(path, known.get(id) ?? id, query);
      const { status } = await gate.request(method, address, method === "GET" ? undefined : body);
      seen.set(status, (seen.get(status) ?? 0) + 1);
      expect(
        status,
        gate.logs.filter((line) => line.level === "error").map((line) => JSON.stringify(line)).join(
          "\n",
        ),
      ).not.toBe(500);
    }),
    { numRuns: 1_500 },
  );
  expect([...seen.keys()].sort()).toEqual(expect.arrayContaining([200, 201, 400, 404]));
});
