import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OWN_TOOLS } from "../../../server/hooks/hooks.ts";
import { TOOLS } from "../../../server/mcp/tools.ts";
import { selfCommand } from "../../../server/runtime/self.ts";
import { testCaller } from "../../helpers.ts";
import { openAsk, SPEAK } from "./stage.ts";

type Json = Record<string, unknown>;

describe("each host's tools are seen for what they do", () => {
  const patch = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  const heredoc = (...lines: string[]) => `apply_patch <<'EOF'\n${patch(...lines)}\nEOF`;
  const ROWS: [host: string, tool: string, input: Json][] = [
    ["claude-code", "Write", { file_path: ".env", content: "x" }],
    ["claude-code", "Edit", { file_path: "./.env", old_string: "a", new_string: "b" }],
    ["claude-code", "MultiEdit", { file_path: ".env", edits: [] }],
    ["claude-code", "NotebookEdit", { notebook_path: "secrets/a.ipynb", new_source: "x" }],
    ["claude-code", "Read", { file_path: "a/../.env" }],
    ["claude-code", "Grep", { pattern: "KEY", path: ".env" }],
    ["claude-code", "Grep", { pattern: "KEY", glob: ".env" }],
    ["claude-code", "Read", { file_path: "secrets/[id].ts" }],
    ["claude-code", "Grep", { pattern: "KEY", path: "secrets/{a}" }],
    ["claude-code", "Glob", { pattern: "*", path: "secrets/deep/" }],
    ["claude-code", "Write", { file_path: "ok.txt", path: ".env", content: "x" }],
    ["claude-code", "Bash", { command: "cat .env" }],
    ["claude-code", "Bash", { command: "cd secrets && echo x > a" }],
    ["codex", "apply_patch", { command: patch("*** Add File: .env", "+x") }],
    ["codex", "apply_patch", { command: patch("*** Add File: ok", "+x", "*** Delete File: .env") }],
    ["codex", "apply_patch", {
      command: patch("*** Update File: ok", "*** Move to: secrets/ok", "@@", "-a", "+b"),
    }],
    ["codex", "apply_patch", { command: patch("*** Update File: ok", " *** Delete File: .env") }],
    ["codex", "Bash", {
      command: `apply_patch <<'EOF'\n${patch("*** Add File: .env", "+x")}\nEOF`,
    }],
    ["codex", "shell", { command: ["cp", "a", ".env"] }],
    ["copilot-cli", "create", { path: ".env", file_text: "x" }],
    ["copilot-cli", "edit", { path: ".env", old_str: "a", new_str: "b" }],
    ["copilot-cli", "str_replace_editor", { command: "create", path: ".env", file_text: "x" }],
    ["copilot-cli", "view", { path: ".env" }],
    ["copilot-cli", "bash", { command: "rm .env" }],
    ["gemini-cli", "write_file", { file_path: ".env", content: "x" }],
    ["gemini-cli", "replace", { file_path: ".env", old_string: "a", new_string: "b" }],
    ["gemini-cli", "read_file", { absolute_path: ".env" }],
    ["gemini-cli", "read_many_files", { paths: ["a", ".env"] }],
    ["gemini-cli", "read_many_files", { paths: [...Array(401).fill("a"), ".env"] }],
    ["gemini-cli", "read_many_files", { include: ["secrets/*"] }],
    ["gemini-cli", "run_shell_command", { command: "echo x > .env" }],
    ["gemini-cli", "run_shell_command", { command: "echo x > a", dir_path: "secrets" }],
    ["qwen-code", "write_file", { file_path: ".env", content: "x" }],
    ["qwen-code", "edit", { file_path: ".env", old_string: "a", new_string: "b" }],
    ["qwen-code", "notebook_edit", { notebook_path: "secrets/a.ipynb", new_source: "x" }],
    ["qwen-code", "read_file", { file_path: ".env" }],
    ["qwen-code", "grep_search", { pattern: "x", path: "secrets" }],
    ["qwen-code", "run_shell_command", { command: "echo x > a", directory: "secrets" }],
    ["qwen-code", "monitor", { command: "tail -f .env", description: "x" }],
    ["cursor", "Write", { file_path: ".env", content: "x" }],
    ["cursor", "Delete", { path: ".env" }],
    ["cursor", "StrReplace", { path: ".env", old_string: "a", new_string: "b" }],
    ["cursor", "Read", { target_file: ".env" }],
    ["cursor", "Shell", { command: "cat .env" }],
  ];

  test.each(ROWS)("%s %s %j is blocked", async (host, tool, input) => {
    const { gate, ask, actions } = await openAsk(host);
    gate.write("ok", "a\n");
    mkdirSync(join(gate.root, "secrets"));
    expect(await ask(tool, input)).toMatch(/^Blocked by gate: .*(\.env|secrets)/);
    expect((await actions())[0]).toMatchObject({ status: "blocked", agent: host });
  });

  const CODEX_PATCHES: [string, string, RegExp | string][] = [
    ["of allowed files", heredoc("*** Add File: src/new.txt", "+touch"), "allow"],
    ["of a blocked file", heredoc("*** Add File: .env", "+x"), /^Blocked by gate: .*\.env/],
    ["of a file that no rule names", heredoc("*** Add File: other.txt", "+x"), "held"],
    ["beside a blocked program", `${heredoc("*** Add File: src/new.txt", "+x")}\ntouch a`, /touch/],
    ["of an unknown text", "cat notes.txt | apply_patch", "held"],
    ["that stands in a file", "apply_patch evil.patch", "held"],
    ["with an unknown mark", heredoc("*** Remove  File: src/a.ts"), /does not know/],
    [
      "with a blocked name behind a separator",
      heredoc("*** Delete File: x\u2028/../.env"),
      /\.env/,
    ],
  ];

  test.each(CODEX_PATCHES)("a patch in a command of Codex %s", async (_, command, answer) => {
    const { ask } = await openAsk("codex", {
      defaultEffect: "ask",
      allowedPaths: ["src/**"],
      blockedPaths: [".env"],
      allowedCommands: ["apply_patch", "cat"],
      blockedCommands: ["touch"],
    });
    const expected = typeof answer === "string" ? new RegExp(`^${answer}$`) : answer;
    expect(await ask("exec_command", { command })).toMatch(expected);
  });

  test("a patch of several files is one action, and each of them comes back", async () => {
    const { gate, raw, actions } = await openAsk("codex");
    for (const [name, text] of [["a.txt", "one\ntwo\n"], ["b.txt", "b\n"], ["c.txt", "c\n"]]) {
      gate.write(name!, text!);
    }
    const command = patch(
      ...["*** Update File: a.txt", "@@", " one", "-two", "+deux"],
      ...["*** Delete File: b.txt", "*** Add File: new/d.txt", "+d"],
      ...["*** Update File: c.txt", "*** Move to: e.txt", "@@", "-c", "+C"],
    );
    const { before, after } = SPEAK.codex!;
    const at = { cwd: gate.root, key: "k" };
    expect(await raw(before("apply_patch", { command }, at))).toBe("allow");
    const [{ id }] = await actions() as unknown as [{ id: string }];
    const { changes, after: made } = await gate.project.actions.detail(id);
    expect(changes.map(({ path }) => path)).toEqual(
      ["a.txt", "b.txt", "new/d.txt", "e.txt", "c.txt"],
    );
    expect(made?.text).toBe("one\ndeux\n");
    gate.write("a.txt", "one\ndeux\n");
    gate.write("new/d.txt", "d\n");
    gate.write("e.txt", "C\n");
    rmSync(join(gate.root, "b.txt"));
    rmSync(join(gate.root, "c.txt"));
    await raw(after("apply_patch", { command }, at));
    expect((await actions())[0]).toMatchObject({ execution: "succeeded" });
    await gate.project.actions.rollback(id, {}, testCaller("reviewer"));
    const there = ["a.txt", "b.txt", "c.txt", "e.txt", "new"];
    expect(there.map((name) => existsSync(join(gate.root, name)))).toEqual(
      [true, true, true, false, false],
    );
  });

  test.each(["TodoWrite", "ToolSearch", "AskUserQuestion"])(
    "%s touches nothing: it goes on and is not recorded, unless a rule speaks of it",
    async (tool) => {
      const quiet = await openAsk("claude-code", { defaultEffect: "deny" });
      expect(await quiet.ask(tool, {})).toBe("allow");
      expect(await quiet.actions()).toEqual([]);
      const told = await openAsk("claude-code", { defaultEffect: "allow", askTools: [tool] });
      expect(await told.ask(tool, {})).toBe("held");
    },
  );

  test("a tool rule by the host's own name holds beside the paths", async () => {
    const { ask } = await openAsk("gemini-cli", {
      defaultEffect: "allow",
      blockedTools: ["write_file"],
    });
    expect(await ask("write_file", { file_path: "a", content: "x" })).toMatch(/write_file/);
    expect(await ask("replace", { file_path: "a", old_string: "", new_string: "x" })).toBe("allow");
  });

  test("reading meets what blocks and asks alone, writing the default too", async () => {
    const { ask } = await openAsk("claude-code", { defaultEffect: "deny", askPaths: ["asked"] });
    expect(await ask("Read", { file_path: "any" })).toBe("allow");
    expect(await ask("Read", { file_path: "/etc/hostname" })).toBe("allow");
    expect(await ask("Read", { file_path: "asked" })).toBe("held");
    expect(await ask("Write", { file_path: "any", content: "x" })).toMatch(/^Blocked/);
  });
});

describe("gate's own tools pass, and nothing else under their name", () => {
  test("the list is that of the server", () => {
    expect([...OWN_TOOLS].sort()).toEqual(TOOLS.map(({ name }) => name).sort());
  });

  const { command, args } = selfCommand();
  const own = { command, args: [...args, "mcp"] };
  const PASS: [string, string, Json, Json][] = [
    ["claude-code", "mcp__gate__write_file", {}, { mcp_server: { name: "gate", source: "user" } }],
    ["claude-code", "mcp__gate__run_command", {}, {}],
    ["codex", "mcp__gate__edit_file", {}, {}],
    ["copilot-cli", "gate-write_file", {}, {}],
    ["gemini-cli", "mcp_gate_write_file", {}, {
      mcp_context: { server_name: "gate", tool_name: "write_file", ...own },
    }],
    ["qwen-code", "mcp__gate__write_file", {}, {}],
    ["cursor", "write_file", {}, {
      hook_event_name: "beforeMCPExecution",
      command: [own.command, ...own.args].join(" "),
    }],
  ];

  test.each(PASS)("%s %s passes without an action", async (host, tool, input, more) => {
    const { ask, actions } = await openAsk(host, { defaultEffect: "deny" });
    expect(await ask(tool, input, more)).toBe("allow");
    expect(await actions()).toEqual([]);
  });

  const SPOOFS: [string, string, Json][] = [
    ["claude-code", "mcp__gate__write_file", { mcp_server: { name: "gate", source: "project" } }],
    ["claude-code", "mcp__gate__write_file", { mcp_server: { name: "gates", source: "user" } }],
    ["claude-code", "mcp__gate__exfiltrate", { mcp_server: { name: "gate", source: "user" } }],
    ["claude-code", "mcp__gate__x__write_file", {}],
    ["claude-code", "mcp__gate-x__write_file", {}],
    ["claude-code", "mcp__Gate__write_file", {}],
    ["codex", "mcp__gate__write_file_", {}],
    ["copilot-cli", "gate-write-file", {}],
    ["copilot-cli", "gate-x-write_file", {}],
    ["gemini-cli", "mcp_gate_write_file", {}],
    ["gemini-cli", "mcp_gate_write_file", {
      mcp_context: {
        server_name: "gate",
        tool_name: "write_file",
        command: "/tmp/gate",
        args: ["mcp"],
      },
    }],
    ["gemini-cli", "write_file", {
      mcp_context: { server_name: "x", tool_name: "write_file", ...own },
    }],
    ["qwen-code", "write_file", {}],
    ["qwen-code", "mcp__gate__exfiltrate", {}],
    ["cursor", "write_file", { hook_event_name: "beforeMCPExecution", command: "/tmp/gate mcp" }],
    ["cursor", "write_file", { hook_event_name: "beforeMCPExecution", url: "https://x" }],
  ];

  test.each(SPOOFS)("%s %s %j does not", async (host, tool, more) => {
    const { ask, actions } = await openAsk(host, { defaultEffect: "deny" });
    expect(await ask(tool, { path: "a", content: "b" }, more)).toMatch(/^Blocked by gate/);
    expect(await actions()).toHaveLength(1);
  });
});
