import {
  countOrNull,
  exitCodeIn,
  type HookCall,
  isObject,
  NO_REASON,
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
  type CanaryCall,
  COMMON_INSTRUCTIONS,
  SERVER_LIST,
  SETTINGS,
} from "./host.ts";

export const CURSOR: AgentHost = {
  id: "cursor",
  name: "Cursor",
  program: "cursor",
  client_names: ["cursor-vscode"],
  mcp: {
    format: "json",
    key: "mcpServers",
    user_files: [{ path: "~/.cursor/mcp.json" }],
    project_files: [".cursor/mcp.json"],
    entry: { once: { type: "stdio" } },
    afterwards: "switch the server on in Settings > MCP",
  },
  instructions: { file: COMMON_INSTRUCTIONS, signs: [".cursor"] },
  protected_paths: [["mcp.json", SERVER_LIST], [".cursor", SETTINGS]],
  loads: ["~/.cursor/{rules,commands,agents,skills}"],
  hooks: {
    settings: {
      format: "json",
      user_file: { path: "~/.cursor/hooks.json" },
      project_file: ".cursor/hooks.json",
      frame: { version: 1 },
      is_grouped: false,
      events: [
        before("preToolUse"),
        before("beforeMCPExecution"),
        after("postToolUse"),
        after("postToolUseFailure"),
      ],
      entry: (command) => ({ command }),
      shell_on_windows: null,
      fail_closed: { failClosed: true },
      timeout: { key: "timeout", unit: "s" },
      guarded_paths: ["~/.cursor/{mcp.json,hooks.json}"],
      guarded_folder: "~/.cursor",
      afterwards: "start Cursor again and look at Settings > Hooks",
    },
    read,
    deny: (text) => ({ permission: "deny", user_message: text, agent_message: text }),
    folder_keys: ["working_directory", "cwd"],
    rewriting: null,
    canary,
    tools: {
      Shell: "command",
      Write: "write",
      TabWrite: "write",
      Edit: "edit",
      StrReplace: "edit",
      MultiEdit: "edit",
      ApplyPatch: "patch",
      EditNotebook: "notebook",
      Delete: "delete",
      Read: "read",
      TabRead: "read",
      ReadLints: "read",
      Glob: "list",
      Grep: "search",
      LS: "list",
      SemanticSearch: "search",
      AskQuestion: "quiet",
      CreatePlan: "quiet",
      SwitchMode: "quiet",
      TodoWrite: "quiet",
    },
  },
};

function read(raw: Record<string, unknown>, ours: OwnServer): HookCall | null {
  switch (textIn(raw, "hook_event_name")) {
    case "preToolUse":
      // Only `beforeMCPExecution` names the server, so gate evaluates that event.
      return /^MCP:/.test(String(raw.tool_name)) ? null : callOf(raw, textIn(raw, "tool_name"));
    case "beforeMCPExecution":
      return { ...callOf(raw, `MCP:${textIn(raw, "tool_name")}`), server: serverOf(raw, ours) };
    case "beforeShellExecution":
      return { ...callOf(raw, "Shell"), input: { command: textIn(raw, "command") } };
    case "beforeReadFile":
      return { ...callOf(raw, "Read"), input: { file_path: textIn(raw, "file_path") } };
    case "postToolUse":
    case "postToolUseFailure":
      return {
        ...callOf(raw, textIn(raw, "tool_name")),
        event: "after",
        outcome: outcomeOf(raw, raw.hook_event_name === "postToolUseFailure"),
      };
    default:
      return null;
  }
}

function callOf(raw: Record<string, unknown>, tool: string): HookCall {
  const roots = Array.isArray(raw.workspace_roots) ? raw.workspace_roots : [];
  return {
    event: "before",
    session: textIn(raw, "conversation_id"),
    cwd: textOrNull(raw.cwd) ?? textIn({ workspace_roots: roots[0] }, "workspace_roots"),
    tool,
    input: objectIn(raw, "tool_input"),
    key: textOrNull(raw.tool_use_id),
    server: null,
    outcome: null,
  };
}

function serverOf(raw: Record<string, unknown>, { command, args }: OwnServer) {
  const line = [command, ...args].join(" ");
  return { tool: textIn(raw, "tool_name"), is_ours: raw.command === line };
}

function canary({ id, cwd, command }: CanaryCall) {
  const tool = { tool_name: "Shell", tool_input: { command }, tool_use_id: id };
  const call = { conversation_id: id, cwd, workspace_roots: [cwd], ...tool };
  return {
    before: { ...call, hook_event_name: "preToolUse" },
    after: { ...call, hook_event_name: "postToolUse", tool_output: '{"exitCode":0}' },
  };
}

function outcomeOf(raw: Record<string, unknown>, failed: boolean): Outcome {
  const output = textOrNull(raw.tool_output);
  const said = output === null ? null : outputOf(output);
  const code = isObject(said) ? said.exitCode ?? said.exit_code : undefined;
  const error = textOrNull(raw.error_message) ?? textOrNull(raw.failure_type);
  const exit_code = typeof code === "number" && Number.isInteger(code)
    ? code
    : exitCodeIn(error, /exit(?:ed with)? code:? (-?\d+)/i);
  const hasFailed = failed || (exit_code ?? 0) !== 0;
  return {
    failed: hasFailed,
    exit_code,
    output,
    error: hasFailed ? error ?? NO_REASON : null,
    duration_ms: countOrNull(raw.duration),
  };
}

function outputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
