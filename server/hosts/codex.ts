import { commandCanaryLikeClaude, denyLikeClaude, readLikeClaude } from "./claude_code.ts";
import { isObject } from "./hook_input.ts";
import {
  after,
  type AgentHost,
  before,
  CALL_TIMEOUT_MS,
  COMMON_INSTRUCTIONS,
  SETTINGS,
} from "./host.ts";

const FOLDER = "{CODEX_HOME|~/.codex}";

export const CODEX: AgentHost = {
  id: "codex",
  name: "Codex",
  program: "codex",
  client_names: ["codex-mcp-client"],
  workspaces,
  mcp: {
    format: "toml",
    key: "mcp_servers",
    user_files: [{ path: `${FOLDER}/config.toml` }],
    project_files: [".codex/config.toml"],
    entry: { once: { startup_timeout_sec: 20, tool_timeout_sec: CALL_TIMEOUT_MS / 1000 } },
    afterwards: "start a new session",
  },
  instructions: { file: COMMON_INSTRUCTIONS, signs: [".codex"] },
  protected_paths: [[".codex", SETTINGS]],
  loads: ["~/.codex/{AGENTS.md,AGENTS.override.md,prompts,skills,agents}"],
  hooks: {
    settings: {
      format: "json",
      user_file: { path: `${FOLDER}/hooks.json` },
      project_file: ".codex/hooks.json",
      frame: {},
      is_grouped: true,
      events: [before("PreToolUse"), after("PostToolUse")],
      entry: (command) => ({ type: "command", command }),
      shell_on_windows: "cmd",
      timeout: { key: "timeout", unit: "s" },
      guarded_paths: ["~/.codex/{config.toml,hooks.json}"],
      guarded_folder: "~/.codex",
      afterwards: "start codex, type /hooks and trust gate's: until then Codex skips them silently",
    },
    // Codex sends and reads the JSON of Claude Code.
    read: readLikeClaude,
    deny: denyLikeClaude,
    folder_keys: ["workdir"],
    rewriting: {
      tools: ["Bash"],
      // In its other modes it also puts commands into a sandbox of its own.
      only_unasked: true,
      // Without its own word for "allow" it runs the agent's command.
      answer: (updatedInput) => ({
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "allow",
          updatedInput,
        },
      }),
    },
    canary: (call) => commandCanaryLikeClaude(call, ""),
    tools: {
      Bash: "command",
      shell: "command",
      exec_command: "command",
      apply_patch: "patch",
      view_image: "read",
      create_goal: "quiet",
      get_goal: "quiet",
      list_mcp_resource_templates: "quiet",
      list_mcp_resources: "quiet",
      request_user_input: "quiet",
      update_goal: "quiet",
      update_plan: "quiet",
    },
  },
};

/** The git roots of this turn; Codex sends them as an object or as its JSON text. */
function workspaces(meta: Record<string, unknown>): string[] {
  let turn = meta["x-codex-turn-metadata"];
  if (typeof turn === "string") {
    try {
      turn = JSON.parse(turn);
    } catch {
      return [];
    }
  }
  const found = isObject(turn) ? turn.workspaces : null;
  const list = Array.isArray(found) ? found : isObject(found) ? Object.keys(found) : [];
  return list.filter((one) => typeof one === "string");
}
