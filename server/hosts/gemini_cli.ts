import {
  exitCodeIn,
  type HookCall,
  isObject,
  type McpServer,
  objectIn,
  type Outcome,
  type OwnServer,
  textIn,
  textOrNull,
} from "./hook_input.ts";
import {
  after,
  type AgentHost,
  before,
  CALL_TIMEOUT_MS,
  type CanaryCall,
  SETTINGS,
} from "./host.ts";

const SETTINGS_FILE = { path: "~/.gemini/settings.json" };

export const GEMINI_CLI: AgentHost = {
  id: "gemini-cli",
  name: "Gemini CLI",
  program: "gemini",
  client_names: ["gemini-cli-mcp-client"],
  mcp: {
    format: "json-with-comments",
    key: "mcpServers",
    user_files: [SETTINGS_FILE],
    project_files: [".gemini/settings.json"],
    entry: { once: { timeout: CALL_TIMEOUT_MS } },
    afterwards: "start a new session",
  },
  instructions: { file: "GEMINI.md", signs: [".gemini"] },
  protected_paths: [[".gemini", SETTINGS]],
  loads: ["~/.gemini/{extensions,commands,agents,skills}"],
  hooks: {
    settings: {
      format: "json-with-comments",
      user_file: SETTINGS_FILE,
      project_file: ".gemini/settings.json",
      frame: {},
      is_grouped: true,
      events: [before("BeforeTool"), after("AfterTool")],
      entry: (command) => ({ name: "gate", type: "command", command }),
      shell_on_windows: "powershell",
      timeout: { key: "timeout", unit: "ms" },
      guarded_paths: ["~/.gemini/settings.json"],
      guarded_folder: "~/.gemini",
      afterwards: "start a new session",
    },
    read,
    deny: (reason) => ({ decision: "deny", reason }),
    folder_keys: ["dir_path", "directory"],
    rewriting: {
      tools: ["run_shell_command"],
      only_unasked: false,
      answer: (tool_input) => ({ hookSpecificOutput: { hookEventName: "BeforeTool", tool_input } }),
    },
    canary,
    tools: {
      run_shell_command: "command",
      write_file: "write",
      replace: "edit",
      edit: "edit",
      read_file: "read",
      read_many_files: "read_many",
      list_directory: "list",
      glob: "list",
      grep_search: "search",
      search_file_content: "search",
      ask_user: "quiet",
      enter_plan_mode: "quiet",
      exit_plan_mode: "quiet",
      list_background_processes: "quiet",
      read_background_output: "quiet",
      update_topic: "quiet",
      write_todos: "quiet",
    },
  },
};

function read(raw: Record<string, unknown>, ours: OwnServer): HookCall | null {
  const event = textIn(raw, "hook_event_name");
  if (event !== "BeforeTool" && event !== "AfterTool") return null;
  const isAfter = event === "AfterTool";
  return {
    event: isAfter ? "after" : "before",
    session: textIn(raw, "session_id"),
    cwd: textIn(raw, "cwd"),
    tool: textIn(raw, "tool_name"),
    input: objectIn(raw, "tool_input"),
    key: null,
    server: serverOf(raw.mcp_context, ours),
    outcome: isAfter ? outcomeLikeGemini(raw.tool_response) : null,
  };
}

function canary({ id, cwd, command }: CanaryCall) {
  const call = { session_id: id, cwd, tool_name: "run_shell_command", tool_input: { command } };
  const tool_response = { llmContent: "Exit Code: 0" };
  return {
    before: { ...call, hook_event_name: "BeforeTool" },
    after: { ...call, hook_event_name: "AfterTool", tool_response },
  };
}

/** Gemini sends the command line of the server, so another server cannot pass for gate's. */
function serverOf(context: unknown, { command, args }: OwnServer): McpServer | null {
  if (!isObject(context)) return null;
  const tool = textOrNull(context.tool_name) ?? "";
  const isStarted = context.command === command &&
    JSON.stringify(context.args ?? []) === JSON.stringify(args);
  return { tool, is_ours: context.server_name === "gate" && isStarted };
}

/** The outcome in the result of a tool, also for hosts that took this format over. */
export function outcomeLikeGemini(response: unknown): Outcome {
  const said = isObject(response) ? response : {};
  const output = textOf(said.llmContent) ?? textOrNull(said.returnDisplay);
  const exit_code = exitCodeIn(output, /^Exit Code: (-?\d+)$/m);
  const reported = isObject(said.error) ? textOrNull(said.error.message) ?? "failed" : null;
  const error = reported ?? (exit_code ? `It ended with exit code ${exit_code}` : null);
  return { failed: error !== null, exit_code, output, error, duration_ms: null };
}

function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.map((part) => isObject(part) ? textOrNull(part.text) : textOrNull(part));
  return texts.filter((one) => one !== null).join("\n") || null;
}
