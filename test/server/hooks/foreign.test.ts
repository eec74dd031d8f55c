import { describe, expect, test } from "vitest";
import { openAsk } from "./stage.ts";

type Json = Record<string, unknown>;

const POLICIES = {
  defaultEffect: "allow" as const,
  allowedTools: ["*"],
  blockedPaths: [{ pattern: ".env", reason: "secrets stay out" }],
  blockedCommands: ["git reset --hard"],
};

describe("a tool of another program meets the rules by what it is given", () => {
  test.each<[string, string, Json, string]>([
    ["claude-code", "mcp__fs__read", { path: ".env" }, "secrets stay out"],
    ["claude-code", "mcp__fs__read", { files: [{ at: "../project/.env" }] }, "secrets stay out"],
    ["claude-code", "mcp__sh__run", { command: "git reset --hard" }, "git reset --hard"],
    ["claude-code", "mcp__sh__run", { command: "gate approve x" }, "only a person"],
    ["claude-code", "NewTool", { target: "~/.gate/tokens/reviewer" }, "off limits"],
    ["claude-code", "WebFetch", { url: "http://localhost:47999/api", prompt: "x" }, "daemon's API"],
    ["claude-code", "mcp__fs__write", { path: "gate.config.json" }, "held"],
    ["codex", "write_stdin", { session_id: 1, chars: "git reset --hard\n" }, "git reset --hard"],
    ["codex", "write_stdin", { session_id: 1, chars: "cat .env\n" }, "secrets stay out"],
    ["cursor", "Unknown", { a: { b: ".env" } }, "secrets stay out"],
    ["gemini-cli", "mcp_fs_read", { path: ".env" }, "secrets stay out"],
    ["copilot-cli", "fs-read", { path: ".env" }, "secrets stay out"],
    ["claude-code", "mcp__slack__post", { text: "and/or, see https://x.test/a/b" }, "allow"],
    ["claude-code", "mcp__fs__read", { path: "src/a.ts" }, "allow"],
    ["claude-code", "TodoWrite", { todos: [{ content: "move .env" }] }, "allow"],
    ["codex", "write_stdin", { session_id: 1, chars: "y\n" }, "allow"],
  ])("%s %s %j", async (host, tool, input, want) => {
    const { ask } = await openAsk(host, POLICIES);
    expect(await ask(tool, input)).toContain(want);
  });
});
