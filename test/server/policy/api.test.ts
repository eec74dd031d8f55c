import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

const POLICIES = {
  defaultEffect: "allow" as const,
  askPaths: ["held/**"],
  blockedPaths: [".env"],
};

const write = (path: string) => ({ tool: "write_file", input: { path, content: "x" } });

describe("/api/policy/hits", () => {
  test("counts each rule that has decided, and who overruled it", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const submit = async (path: string) => {
      const answer = await gate.request("POST", "/api/actions", write(path), "agent");
      return (await answer.json()).action?.id as string | undefined;
    };
    await submit(".env");
    await submit("free.txt");
    await submit("held/a.txt");
    await submit("held/b.txt");
    const pending = await (await gate.request("GET", "/api/actions?status=pending")).json();
    const { id } = pending.items[0];
    expect((await gate.request("POST", `/api/actions/${id}/approve`, {})).status).toBe(200);
    const answer = await gate.request("GET", "/api/policy/hits");
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual([
      {
        rule: { pattern: "held/**", list: "askPaths", source: "project" },
        count: 2,
        last_hit_at: expect.any(String),
        allow: 0,
        ask: 2,
        deny: 0,
        overruled: 1,
      },
      {
        rule: { pattern: ".env", list: "blockedPaths", source: "project" },
        count: 1,
        last_hit_at: expect.any(String),
        allow: 0,
        ask: 0,
        deny: 1,
        overruled: 0,
      },
    ]);
  });
});

describe("/api/policy/test", () => {
  test.each([["read", "allow"], ["read_file", "allow"], ["write", "ask"], ["delete", "ask"]])(
    "a tool that is allowed reads without being held: %s is %s, as when it is done",
    async (action, effect) => {
      const allowedTools = ["read_file", "write_file", "delete_file"];
      const gate = await createTestGate({ policies: { defaultEffect: "ask", allowedTools } });
      const answer = await gate.request("POST", "/api/policy/test", { path: "a.ts", action });
      expect((await answer.json()).effect).toBe(effect);
    },
  );

  test.each([
    [{ path: "a.ts" }, "allow"],
    [{ path: ".env", action: "write" }, "deny"],
    [{ path: "held/x", action: "delete" }, "ask"],
    [{ path: "rm -rf held", action: "command" }, "ask"],
    [{ command: "cat .env" }, "deny"],
    [{ action: "WebFetch", input: { url: "https://example.com" } }, "allow"],
    [{ path: "a\u0000b", action: "write" }, "deny"],
    [{ path: "\ud800", action: "write" }, "deny"],
    [{ path: "a".repeat(256), action: "write" }, "deny"],
    [{ path: "ä".repeat(128), action: "write" }, "deny"],
    [{ command: `grep ${"a".repeat(300)} a.ts` }, "allow"],
    [{ command: `frob ${"a".repeat(300)} ${"b".repeat(256)}` }, "allow"],
    [{ command: `touch ${"a".repeat(300)}` }, "deny"],
    [{ command: "ls -l `which gcc`" }, "allow"],
    [{ command: "file $(which gcc cc)" }, "allow"],
    [{ command: "alias gcc=.env; cat $(which gcc)" }, "ask"],
    [{ command: "awk '{print > \"/dev/null\"}' a.ts" }, "allow"],
    [{ command: "awk '/x/ {print > \"/etc/x\"}' a.ts" }, "deny"],
    [{ command: "awk '{print > \"/dev/stdout\"}' a.ts" }, "allow"],
    [{ command: "echo x | tee /dev/stdout" }, "allow"],
    [{ command: "frob --log=/dev/stdout" }, "allow"],
    [{ command: "python3 -c \"open('/dev/stdout', 'w').write('x')\"" }, "allow"],
    [
      { command: "python3 -c \"open('/dev/stderr')\"; perl -e 'open F, \">/dev/stdout\"'" },
      "allow",
    ],
  ])("%j → %s", async (body, effect) => {
    const gate = await createTestGate({ policies: POLICIES });
    const answer = await gate.request("POST", "/api/policy/test", body, "agent");
    expect(answer.status).toBe(200);
    const result = await answer.json();
    expect(result).toMatchObject({ effect, elapsed_us: expect.any(Number) });
    expect("analysis" in result).toBe(/"(action":")?command"/.test(JSON.stringify(body)));
  });

  test("a path in a loop of symbolic links is denied with that reason", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    symlinkSync("b", join(gate.root, "a"));
    symlinkSync("a", join(gate.root, "b"));
    const answer = await gate.request("POST", "/api/policy/test", { path: "a" });
    expect(await answer.json()).toMatchObject({
      effect: "deny",
      rule: { list: "outside-root" },
      reason:
        `Cannot resolve "${join(gate.root, "a")}": its symbolic links form a loop or number ` +
        "more than 40; use the real path",
    });
  });

  test.each([
    [{}],
    [{ action: "write" }],
    [{ action: "command" }],
    [{ action: "read", command: "ls" }],
    [{ action: "command", command: "ls", path: "x" }],
    [{ command: "ls \ud800" }],
    [{ command: "ls", cwd: "\ud800" }],
    [{ path: "a.ts", content: "\udc00" }],
    [{ path: "" }],
    [{ path: 7 }],
    [{ unknown: 1, path: "a" }],
  ])("%j is refused", async (body) => {
    const gate = await createTestGate({ policies: POLICIES });
    const answer = await gate.request("POST", "/api/policy/test", body, "agent");
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "invalid" });
  });
});

describe("PUT /api/config/policies", () => {
  test("is in force when it answers, guards against lost updates, and is in the audit chain", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const before = await gate.request("GET", "/api/config");
    const answer = await gate.request("PUT", "/api/config/policies", { blockedPaths: ["*.md"] });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("ETag")).not.toBe(before.headers.get("ETag"));
    const view = await answer.json();
    expect(view.effective.rules.map((rule: { pattern: string }) => rule.pattern)).toEqual([
      "held/**",
      "*.md",
    ]);
    const tested = await gate.request("POST", "/api/policy/test", { path: "a.md" });
    expect(await tested.json()).toMatchObject({ effect: "deny" });
    expect((await gate.audit()).at(-1)).toMatchObject({ type: "policy.changed" });
  });

  test("is no agent's business, and bad rules change nothing", async () => {
    const gate = await createTestGate({ policies: POLICIES });
    const put = (body: unknown, scope: "agent" | "reviewer") =>
      gate.request("PUT", "/api/config/policies", body, scope);
    expect((await put({ defaultEffect: "allow" }, "agent")).status).toBe(403);
    expect((await put({ blockedPaths: ["!a"] }, "reviewer")).status).toBe(400);
    expect((await put({ defaultEffect: "maybe" }, "reviewer")).status).toBe(400);
    const tested = await gate.request("POST", "/api/policy/test", { path: ".env" });
    expect(await tested.json()).toMatchObject({ effect: "deny" });
  });
});
