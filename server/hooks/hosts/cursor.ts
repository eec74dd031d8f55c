import {
  countOrNull,
  exitCodeIn,
  type HookCall,
  type HostHooks,
  isObject,
  objectIn,
  type Outcome,
  type OwnServer,
  textIn,
  textOrNull,
} from "../host_hooks.ts";

export const CURSOR: HostHooks = {
  read,
  go_on: {},
  deny: (text) => ({ permission: "deny", user_message: text, agent_message: text }),
  folders: ["working_directory", "cwd"],
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
    Glob: "search",
    Grep: "search",
    LS: "search",
    SemanticSearch: "search",
    AskQuestion: "quiet",
    CreatePlan: "quiet",
    SwitchMode: "quiet",
    TodoWrite: "quiet",
  },
};

function read(raw: Record<string, unknown>, ours: OwnServer): HookCall | null {
  switch (textIn(raw, "hook_event_name")) {
    case "preToolUse":
      // Which server is behind it, only the event of its own tells: that one is judged.
      return /^MCP:/.test(String(raw.tool_name)) ? null : callOf(raw, textIn(raw, "tool_name"));
    case "beforeMCPExecution":
      return { ...callOf(raw, `MCP:${textIn(raw, "tool_name")}`), server: serverOf(raw, ours) };
    case "beforeShellExecution":
      return { ...callOf(raw, "Shell"), input: { command: textIn(raw, "command") } };
    case "beforeReadFile":
      return { ...callOf(raw, "Read"), input: { file_path: textIn(raw, "file_path") } };
    case "postToolUse":
      return { ...callOf(raw, afterName(raw)), event: "after", outcome: outcomeOf(raw, false) };
    case "postToolUseFailure":
      return { ...callOf(raw, afterName(raw)), event: "after", outcome: outcomeOf(raw, true) };
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

function afterName(raw: Record<string, unknown>): string {
  return textIn(raw, "tool_name");
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
  const why = error ?? "Its host says that it failed";
  return {
    failed: hasFailed,
    exit_code,
    output,
    error: hasFailed ? why : null,
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
