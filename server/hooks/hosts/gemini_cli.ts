import {
  exitCodeIn,
  type HookCall,
  type HostHooks,
  isObject,
  type McpServer,
  objectIn,
  type Outcome,
  type OwnServer,
  textIn,
  textOrNull,
} from "../host_hooks.ts";

export const GEMINI_CLI: HostHooks = {
  read,
  go_on: {},
  deny: (reason) => ({ decision: "deny", reason }),
  folders: ["dir_path", "directory"],
  tools: {
    run_shell_command: "command",
    write_file: "write",
    replace: "edit",
    edit: "edit",
    read_file: "read",
    read_many_files: "read",
    list_directory: "search",
    glob: "search",
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
    outcome: isAfter ? outcomeOf(raw.tool_response) : null,
  };
}

/** It tells how the server was started: no other one passes for ours. */
function serverOf(context: unknown, { command, args }: OwnServer): McpServer | null {
  if (!isObject(context)) return null;
  const tool = textOrNull(context.tool_name) ?? "";
  const isStarted = context.command === command &&
    JSON.stringify(context.args ?? []) === JSON.stringify(args);
  return { tool, is_ours: context.server_name === "gate" && isStarted };
}

function outcomeOf(response: unknown): Outcome {
  const said = isObject(response) ? response : {};
  const output = textOf(said.llmContent) ?? textOrNull(said.returnDisplay);
  const exit_code = exitCodeIn(output, /^Exit Code: (-?\d+)$/m);
  const told = isObject(said.error) ? textOrNull(said.error.message) ?? "failed" : null;
  const error = told ?? (exit_code ? `It ended with exit code ${exit_code}` : null);
  return { failed: error !== null, exit_code, output, error, duration_ms: null };
}

function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.map((part) => isObject(part) ? textOrNull(part.text) : textOrNull(part));
  return texts.filter((one) => one !== null).join("\n") || null;
}
