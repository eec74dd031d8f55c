import { commandCanaryLikeClaude, denyLikeClaude, readLikeClaude } from "./claude_code.ts";
import { outcomeLikeGemini } from "./gemini_cli.ts";
import { countOrNull, type HookCall } from "./hook_input.ts";
import { after, type AgentHost, before, CALL_TIMEOUT_MS, SETTINGS } from "./host.ts";

const SETTINGS_FILE = { path: "{QWEN_HOME|~/.qwen}/settings.json" };

/** Qwen Code is a fork of Gemini CLI with hooks like those of Claude Code. */
export const QWEN_CODE: AgentHost = {
  id: "qwen-code",
  name: "Qwen Code",
  program: "qwen",
  // It appends the name of the server.
  client_names: ["qwen-cli-mcp-client-gate"],
  mcp: {
    format: "json-with-comments",
    key: "mcpServers",
    user_files: [SETTINGS_FILE],
    project_files: [".qwen/settings.json"],
    entry: { once: { timeout: CALL_TIMEOUT_MS } },
    afterwards: "start a new session",
  },
  instructions: { file: "QWEN.md", signs: [".qwen"] },
  protected_paths: [[".qwen", SETTINGS]],
  loads: ["~/.qwen/{extensions,commands,agents,skills}"],
  hooks: {
    settings: {
      format: "json-with-comments",
      user_file: SETTINGS_FILE,
      project_file: ".qwen/settings.json",
      frame: {},
      is_grouped: true,
      events: [before("PreToolUse"), after("PostToolUse"), after("PostToolUseFailure")],
      entry: (command) => ({ name: "gate", type: "command", command }),
      shell_on_windows: "cmd",
      // Old versions count milliseconds; new versions count seconds, but read 1000 and more as ms.
      timeout: { key: "timeout", unit: "ms" },
      guarded_paths: ["~/.qwen/settings.json"],
      guarded_folder: "~/.qwen",
      afterwards: "start a new session",
    },
    read,
    deny: denyLikeClaude,
    folder_keys: ["directory"],
    // Qwen Code 0.24.4 ignores another input and runs the agent's command.
    rewriting: null,
    canary: (call) =>
      commandCanaryLikeClaude(call, { llmContent: "Exit Code: 0" }, "run_shell_command"),
    tools: {
      run_shell_command: "command",
      monitor: "command",
      write_file: "write",
      edit: "edit",
      notebook_edit: "notebook",
      read_file: "read",
      zoom_image: "read",
      list_directory: "list",
      glob: "list",
      grep_search: "search",
      ask_user_question: "quiet",
      enter_plan_mode: "quiet",
      exit_plan_mode: "quiet",
      get_goal: "quiet",
      list_agents: "quiet",
      task_create: "quiet",
      task_list: "quiet",
      task_update: "quiet",
      todo_write: "quiet",
      tool_search: "quiet",
      update_goal: "quiet",
    },
  },
};

/** The calls are those of Claude Code; the result of a tool is that of Gemini CLI. */
function read(raw: Record<string, unknown>): HookCall | null {
  const call = readLikeClaude(raw);
  if (!call?.outcome || call.outcome.failed) return call;
  const duration_ms = countOrNull(raw.duration_ms);
  return { ...call, outcome: { ...outcomeLikeGemini(raw.tool_response), duration_ms } };
}
