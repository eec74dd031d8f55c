import { join } from "node:path";
import { COMMENTED_JSON_TEXT, JSON_TEXT } from "./edit/json_text.ts";
import { after, before, type HookHost, timeoutOf } from "./hook_host.ts";

const CLAUDE_CODE: HookHost = {
  id: "claude-code",
  editor: JSON_TEXT,
  file: ({ home, env }) => {
    const folder = env.CLAUDE_CONFIG_DIR || join(home, ".claude");
    return { path: join(folder, "settings.json"), sign: folder };
  },
  // The other one is shared with people on whose machines gate stands elsewhere.
  project_file: ".claude/settings.local.json",
  frame: {},
  is_grouped: true,
  events: [before("PreToolUse"), after("PostToolUse"), after("PostToolUseFailure")],
  entry: (command, event) => ({
    must: { type: "command", command, ...(event.is_before ? { onFailure: "block" } : {}) },
    at_least: { timeout: timeoutOf(event) },
  }),
  afterwards: "start a new session (Claude Code 2.1.295 or later also refuses if gate is missing)",
};

const CODEX: HookHost = {
  id: "codex",
  editor: JSON_TEXT,
  file: ({ home, env }) => {
    const folder = env.CODEX_HOME || join(home, ".codex");
    return { path: join(folder, "hooks.json"), sign: folder };
  },
  project_file: ".codex/hooks.json",
  frame: {},
  is_grouped: true,
  events: [before("PreToolUse"), after("PostToolUse")],
  entry: (command, event) => ({
    must: { type: "command", command },
    at_least: { timeout: timeoutOf(event) },
  }),
  afterwards: "start codex, type /hooks and trust gate's: until then Codex skips them silently",
};

const COPILOT_CLI: HookHost = {
  id: "copilot-cli",
  editor: JSON_TEXT,
  file: ({ home, env }) => {
    const folder = env.COPILOT_HOME || join(home, ".copilot");
    return { path: join(folder, "hooks", "gate.json"), sign: folder };
  },
  project_file: ".github/hooks/gate.json",
  frame: { version: 1 },
  is_grouped: false,
  events: [before("preToolUse"), after("postToolUse"), after("postToolUseFailure")],
  entry: (command, event, { os }) => ({
    must: { type: "command", [os === "win32" ? "powershell" : "bash"]: command },
    at_least: { timeoutSec: timeoutOf(event) },
  }),
  afterwards: "start a new session",
};

const GEMINI_CLI: HookHost = {
  id: "gemini-cli",
  editor: COMMENTED_JSON_TEXT,
  file: ({ home }) => {
    const folder = join(home, ".gemini");
    return { path: join(folder, "settings.json"), sign: folder };
  },
  project_file: ".gemini/settings.json",
  frame: {},
  is_grouped: true,
  events: [before("BeforeTool"), after("AfterTool")],
  entry: (command, event) => ({
    must: { name: "gate", type: "command", command },
    at_least: { timeout: timeoutOf(event) * 1000 },
  }),
  afterwards: "start a new session",
};

const CURSOR: HookHost = {
  id: "cursor",
  editor: JSON_TEXT,
  file: ({ home }) => {
    const folder = join(home, ".cursor");
    return { path: join(folder, "hooks.json"), sign: folder };
  },
  project_file: ".cursor/hooks.json",
  frame: { version: 1 },
  is_grouped: false,
  events: [
    before("preToolUse"),
    before("beforeMCPExecution"),
    after("postToolUse"),
    after("postToolUseFailure"),
  ],
  entry: (command, event) => ({
    must: { command, ...(event.is_before ? { failClosed: true } : {}) },
    at_least: { timeout: timeoutOf(event) },
  }),
  afterwards: "start Cursor again and look at Settings > Hooks",
};

/** The hosts whose own tools gate can stand before. */
export const HOOKED: readonly HookHost[] = [CLAUDE_CODE, COPILOT_CLI, CODEX, GEMINI_CLI, CURSOR];
