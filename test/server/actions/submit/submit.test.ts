import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Action } from "../../../../server/actions/schema.ts";
import { testCaller } from "../../../helpers.ts";
import { agent, openGate, reviewer, sha } from "../harness.ts";

const BINARY = Uint8Array.from({ length: 256 }, (_, n) => n);
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

describe("write_file keeps every byte", () => {
  test.each<[string, Record<string, unknown>, Uint8Array | string]>([
    ["an empty file", { content: "" }, ""],
    ["no final newline", { content: "a\nb" }, "a\nb"],
    ["CRLF", { content: "a\r\nb\r\n" }, "a\r\nb\r\n"],
    ["a byte order mark", { content: "\ufeffa" }, "\ufeffa"],
    ["NUL and controls", { content: "\0\x01\x1b[2J" }, "\0\x01\x1b[2J"],
    ["beyond the first plane", { content: "😀𝒳" }, "😀𝒳"],
    ["all 256 bytes", { content: base64(BINARY), encoding: "base64" }, BINARY],
    ["invalid UTF-8", { content: "/w==", encoding: "base64" }, Uint8Array.of(0xff)],
    ["3 MB", { content: "x".repeat(3_000_000) }, "x".repeat(3_000_000)],
  ])("%s", async (_name, input, expected) => {
    const { submitted, at, actions } = await openGate({ policies: { defaultEffect: "ask" } });
    const { action } = await submitted("write_file", { path: "f", ...input });
    const done = await actions.approve(action.id, {}, reviewer);
    expect(sha(readFileSync(at("f")))).toBe(sha(expected));
    expect(done.after_sha256).toBe(sha(expected));
    const read = (await actions.submit({ tool: "read_file", input: { path: "f" } }, agent)).action;
    await actions.approve(read.id, {}, reviewer);
    const { result } = await actions.wait(read.id, {}, agent);
    const { content, encoding } = result as { content: string; encoding: string };
    const bytes = encoding === "base64"
      ? Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))
      : content;
    expect(sha(bytes)).toBe(sha(expected));
  });
});

describe("an invalid input is refused and leaves no action", () => {
  test.each<[string, string, Record<string, unknown>]>([
    ["no path", "write_file", { content: "x" }],
    ["a path that is a number", "write_file", { path: 1, content: "x" }],
    ["an unknown key", "write_file", { path: "a", content: "x", mode: 1 }],
    ["content with a lone surrogate", "write_file", { path: "a", content: "\ud800" }],
    ["bad base64", "write_file", { path: "a", content: "a=b", encoding: "base64" }],
    ["a path with a lone surrogate", "write_file", { path: "\udc00", content: "x" }],
    ["a folder", "write_file", { path: "dir", content: "x" }],
    ["a path below a file", "write_file", { path: "file/x", content: "x" }],
    ["an edit of a missing file", "edit_file", {
      path: "none",
      edits: [{ old_text: "a", new_text: "b" }],
    }],
    ["an edit whose old text is missing", "edit_file", {
      path: "file",
      edits: [{ old_text: "zzz", new_text: "b" }],
    }],
    ["an edit whose old text occurs twice", "edit_file", {
      path: "file",
      edits: [{ old_text: "o", new_text: "b" }],
    }],
    ["no edits", "edit_file", { path: "file", edits: [] }],
    ["deleting a missing file", "delete_file", { path: "none" }],
    ["deleting a folder", "delete_file", { path: "dir" }],
    ["moving onto an existing file", "move_file", { from: "file", to: "other" }],
    ["moving onto itself", "move_file", { from: "file", to: "./file" }],
    ["moving a missing file", "move_file", { from: "none", to: "x" }],
    ["reading a folder", "read_file", { path: "dir" }],
    ["an empty command", "run_command", { command: "" }],
    ["a command with NUL", "run_command", { command: "echo \0" }],
    ["a command of 200 KB", "run_command", { command: `echo ${"x".repeat(200_000)}` }],
    ["a working folder outside the project", "run_command", { command: "ls", cwd: "/" }],
    ["a working folder that is a link to the outside", "run_command", {
      command: "ls",
      cwd: "out",
    }],
    ["a working folder that is a file", "run_command", { command: "ls", cwd: "file" }],
    ["a rollback of an unknown action", "rollback", { action_id: "x" }],
  ])("%s", async (_name, tool, input) => {
    const { gate, submitted, actions, at } = await openGate({
      files: { file: "foo", other: "bar" },
    });
    mkdirSync(at("dir"));
    symlinkSync("/", at("out"));
    const answer = submitted(tool, input);
    await expect(answer).rejects.toMatchObject({ name: "GateError" });
    await expect(answer).rejects.toSatisfy(({ status }) => status >= 400 && status < 500);
    expect((await actions.list({})).items).toEqual([]);
    expect((await gate.audit()).filter(({ action_id }) => action_id !== null)).toEqual([]);
  });
});

describe("scopes", () => {
  const viewer = testCaller("viewer");
  test("a viewer only reads; an agent never reviews", async () => {
    const { submitted, actions } = await openGate({ policies: { defaultEffect: "ask" } });
    const { action: { id } } = await submitted("write_file", { path: "a", content: "x" });
    const result = { claim_id: "x", exit_code: 0, output: "", truncated: false, duration_ms: 0 };
    const forbidden = [
      actions.submit({ tool: "read_file", input: { path: "a" } }, viewer),
      actions.cancel(id, {}, viewer),
      actions.claim(id, {}, viewer),
      actions.result(id, result, viewer),
      ...[viewer, agent].flatMap((caller) => [
        actions.approve(id, {}, caller),
        actions.reject(id, {}, caller),
        actions.approveWithEdit(id, { content: "y" }, caller),
        actions.rollback(id, {}, caller),
        actions.replay(id, caller),
      ]),
    ];
    for (const answer of forbidden) {
      await expect(answer).rejects.toMatchObject({ code: "forbidden", status: 403 });
    }
    expect((await actions.get(id)).status).toBe("pending");
  });

  test.each(["0", "not-an-id", "\ud800", "' OR 1=1", "x".repeat(10_000)])(
    "an action that does not exist is not found: %s",
    async (id) => {
      const { actions } = await openGate();
      const verbs = [
        actions.get(id),
        actions.detail(id),
        actions.status(id),
        actions.wait(id, {}, agent),
        actions.approve(id, {}, reviewer),
        actions.reject(id, {}, reviewer),
        actions.cancel(id, {}, agent),
        actions.claim(id, {}, agent),
        actions.rollback(id, {}, reviewer),
        actions.replay(id, reviewer),
      ];
      for (const verb of verbs) await expect(verb).rejects.toMatchObject({ code: "not_found" });
    },
  );

  test("a decided action is not decided again", async () => {
    const { submitted, actions } = await openGate({ policies: { defaultEffect: "ask" } });
    const { action: { id } } = await submitted("write_file", { path: "a", content: "x" });
    expect(await actions.cancel(id, { reason: "changed my mind" }, agent)).toMatchObject({
      status: "cancelled",
      reason: "changed my mind",
    });
    for (
      const answer of [
        actions.approve(id, {}, reviewer),
        actions.reject(id, {}, reviewer),
        actions.approveWithEdit(id, { content: "y" }, reviewer),
        actions.cancel(id, {}, agent),
      ]
    ) {
      await expect(answer).rejects.toMatchObject({
        code: "conflict",
        fields: { current_status: "cancelled" },
      });
    }
  });
});

describe("read_file", () => {
  test("returns text or bytes and records the hash of the content", async () => {
    const { gate, submitted } = await openGate({ files: { "a.txt": "grüße\n" } });
    gate.write("b.bin", BINARY);
    expect(await submitted("read_file", { path: "a.txt" })).toMatchObject({
      action: { status: "approved", execution: "succeeded", after_sha256: sha("grüße\n") },
      result: { content: "grüße\n", encoding: "utf8", bytes: 8 },
    });
    expect((await submitted("read_file", { path: "b.bin" })).result).toMatchObject({
      content: base64(BINARY),
      encoding: "base64",
    });
  });

  test("records a failure when the file is missing", async () => {
    const { submitted } = await openGate();
    expect(await submitted("read_file", { path: "none" })).toMatchObject({
      action: {
        status: "approved",
        execution: "failed",
        error: expect.stringContaining("no such"),
      },
      result: null,
    });
  });

  test("returns no content of an approved read once the policy blocks the path", async () => {
    const { gate, submitted, actions } = await openGate({
      policies: { defaultEffect: "ask" },
      files: { "a.txt": "secret" },
    });
    const { action } = await submitted("read_file", { path: "a.txt" });
    await actions.approve(action.id, {}, reviewer);
    expect((await actions.wait(action.id, {}, agent)).result).toMatchObject({ content: "secret" });
    const policies = { defaultEffect: "ask", blockedPaths: ["a.txt"] };
    gate.write("gate.config.json", JSON.stringify({ id: "test", policies }));
    expect((await actions.wait(action.id, {}, agent)).result).toBeNull();
  });
});

describe("rules that name one of gate's tools", () => {
  test.each([
    [{ allowedTools: ["read_file"] }, "a.txt", "approved"],
    [{ allowedTools: ["read_file"], askPaths: ["a.txt"] }, "a.txt", "pending"],
    [{ allowedTools: ["read_file"], blockedPaths: ["*.txt"] }, "a.txt", "blocked"],
    [{ allowedTools: ["read_file"], blockedTools: ["mcp__gate__*"] }, "a.txt", "blocked"],
    [{ allowedTools: ["read_file"] }, "/etc/hostname", "blocked"],
    [{ allowedTools: ["write_file"] }, "a.txt", "pending"],
    [{ allowedTools: ["mcp__gate__read_file"] }, "a.txt", "approved"],
    [{ allowedTools: ["mcp__gate__{read,write}_file"] }, "a.txt", "approved"],
    [{ allowedTools: ["mcp__gate__read_file"], askPaths: ["a.txt"] }, "a.txt", "pending"],
    [{ allowedTools: ["mcp__gate__read_file"], blockedTools: ["read_file"] }, "a.txt", "blocked"],
    [{ allowedTools: ["mcp__gate__read_file"] }, "/etc/hostname", "blocked"],
    [{ allowedTools: ["mcp__gate__*"] }, "a.txt", "pending"],
    [{ allowedTools: ["mcp__*"] }, "a.txt", "pending"],
    [{ allowedTools: ["mcp__gate__write_file"] }, "a.txt", "pending"],
  ])("%j: reading %s is %s", async (policies, path, status) => {
    const files = { "a.txt": "x" };
    const { submitted } = await openGate({
      policies: { defaultEffect: "ask", ...policies },
      files,
    });
    expect((await submitted("read_file", { path })).action.status).toBe(status);
  });

  test.each([
    [["mcp__gate__run_command"], "approved"],
    [["mcp__gate__*"], "pending"],
    [["mcp__*"], "pending"],
  ])("%j: a command that no command rule matches is %s", async (allowedTools, status) => {
    const { submitted } = await openGate({ policies: { defaultEffect: "ask", allowedTools } });
    expect((await submitted("run_command", { command: "true x" })).action.status).toBe(status);
  });

  test("allowing a tool allows no write that no path rule allows", async () => {
    const policies = { defaultEffect: "ask" as const, allowedTools: ["write_file", "mcp__*"] };
    const { submitted } = await openGate({ policies });
    const { action } = await submitted("write_file", { path: "a.txt", content: "x" });
    expect(action.status).toBe("pending");
  });
});

describe("native tools", () => {
  test("are recorded under their own names with secrets masked", async () => {
    const { submitted, actions } = await openGate({
      policies: { defaultEffect: "ask", allowedTools: ["mcp__github__*"], blockedTools: ["Web*"] },
    });
    const input = { repo: "x", api_token: "hunter2", nested: { password: "hunter2" } };
    const allowed = (await submitted("mcp__github__get", input)).action;
    expect(allowed).toMatchObject({ status: "approved", execution: "unknown", reversible: false });
    expect((await submitted("WebFetch", { url: "x" })).action.status).toBe("blocked");
    const held = (await submitted("Other", {})).action;
    expect(held.status).toBe("pending");
    expect(await actions.approve(held.id, {}, reviewer)).toMatchObject({ execution: "unknown" });
    expect(JSON.stringify(await actions.detail(allowed.id))).not.toContain("hunter2");
  });
});

describe("the list of actions", () => {
  test("has pages, newest first, and filters", async () => {
    const { gate, submitted, actions } = await openGate({ policies: { defaultEffect: "ask" } });
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) {
      ids.unshift((await submitted("write_file", { path: `${n}`, content: "x" })).action.id);
    }
    await actions.reject(ids[2]!, {}, reviewer);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await actions.list({ limit: 3, cursor });
      expect(page.items.length).toBeLessThanOrEqual(3);
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(ids);
    const rejected = await actions.list({ status: "rejected" });
    expect(rejected.items.map(({ id }: Action) => id)).toEqual([ids[2]]);
    expect((await actions.list({ path: "3", tool: "write_file" })).items).toHaveLength(1);
    expect(await gate.project.countPending()).toBe(6);
    await expect(actions.list({ cursor: "x" })).rejects.toMatchObject({ code: "invalid" });
  });
});
