import {
  countOrNull,
  exitCodeIn,
  type HookCall,
  isObject,
  type McpServer,
  NO_REASON,
  objectIn,
  type Outcome,
  textIn,
  textOrNull,
} from "./hook_input.ts";
import {
  after,
  type AgentHost,
  before,
  CALL_TIMEOUT_MS,
  type CanaryCall,
  SERVER_LIST,
  SETTINGS,
} from "./host.ts";

const BEFORE = new Set(["PreToolUse"]);
const AFTER = new Set(["PostToolUse", "PostToolUseFailure"]);

export const CLAUDE_CODE: AgentHost = {
  id: "claude-code",
  name: "Claude Code",
  program: "claude",
  client_names: ["claude-code"],
  mcp: {
    format: "json",
    key: "mcpServers",
    projects_key: "projects",
    user_files: [
      { path: "{CLAUDE_CONFIG_DIR|~}/.claude.json", sign: "{CLAUDE_CONFIG_DIR|~/.claude}" },
    ],
    project_files: [".mcp.json"],
    entry: { once: { type: "stdio", timeout: CALL_TIMEOUT_MS } },
    own_commands: {
      add: ["mcp", "add-json", "--scope", "user", "gate", "{entry}"],
      remove: ["mcp", "remove", "gate", "-s", "user"],
    },
    afterwards: "start a new session",
  },
  instructions: { file: "CLAUDE.md", signs: [".claude"] },
  protected_paths: [[".mcp.json", SERVER_LIST], [".{claude,claude.json}", SETTINGS]],
  loads: [
    "~/.claude/{CLAUDE.md,agents,commands,skills,hooks,output-styles,rules}",
    "~/.claude/plugins/installed_plugins.json",
  ],
  hooks: {
    settings: {
      format: "json",
      user_file: { path: "{CLAUDE_CONFIG_DIR|~/.claude}/settings.json" },
      // People share settings.json, and on their machines gate has another path.
      project_file: ".claude/settings.local.json",
      frame: {},
      is_grouped: true,
      events: [before("PreToolUse"), after("PostToolUse"), after("PostToolUseFailure")],
      entry: (command) => ({ type: "command", command }),
      shell_on_windows: null,
      fail_closed: { onFailure: "block" },
      timeout: { key: "timeout", unit: "s" },
      guarded_paths: ["~/.claude.json", "~/.claude/settings*.json"],
      guarded_folder: "~/.claude",
      afterwards:
        "start a new session (Claude Code 2.1.295 or later also refuses if gate is missing)",
    },
    read: readLikeClaude,
    deny: denyLikeClaude,
    folder_keys: [],
    rewriting: {
      tools: ["Bash"],
      only_unasked: true,
      answer: (updatedInput) => ({
        hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput },
      }),
    },
    canary: (call) => commandCanaryLikeClaude(call, { stdout: "", stderr: "", interrupted: false }),
    tools: {
      Bash: "command",
      PowerShell: "command",
      Write: "write",
      Edit: "edit",
      MultiEdit: "edit",
      NotebookEdit: "notebook",
      Read: "read",
      NotebookRead: "read",
      LS: "list",
      Glob: "list",
      Grep: "search",
      AskUserQuestion: "quiet",
      BashOutput: "quiet",
      EnterPlanMode: "quiet",
      ExitPlanMode: "quiet",
      TaskCreate: "quiet",
      TaskGet: "quiet",
      TaskList: "quiet",
      TaskOutput: "quiet",
      TaskUpdate: "quiet",
      TodoWrite: "quiet",
      ToolSearch: "quiet",
    },
  },
};

/** Reads the input of Claude Code, and of hosts that took its format over. */
export function readLikeClaude(raw: Record<string, unknown>): HookCall | null {
  const event = textIn(raw, "hook_event_name");
  const isAfter = AFTER.has(event);
  if (!isAfter && !BEFORE.has(event)) return null;
  const tool = textIn(raw, "tool_name");
  return {
    event: isAfter ? "after" : "before",
    session: textIn(raw, "session_id"),
    cwd: textIn(raw, "cwd"),
    tool,
    input: objectIn(raw, "tool_input"),
    key: textOrNull(raw.tool_use_id),
    server: serverOf(tool, raw.mcp_server),
    outcome: isAfter ? outcomeOf(raw, event === "PostToolUseFailure") : null,
    is_unasked: raw.permission_mode === "bypassPermissions",
  };
}

/** The inputs of a hook for one command of the tool `Bash`. */
export function commandCanaryLikeClaude(
  { id, cwd, command }: CanaryCall,
  tool_response: unknown,
  tool_name = "Bash",
) {
  const call = { session_id: id, cwd, tool_name, tool_input: { command }, tool_use_id: id };
  return {
    before: { ...call, hook_event_name: "PreToolUse" },
    after: { ...call, hook_event_name: "PostToolUse", tool_response },
  };
}

export function denyLikeClaude(text: string): Record<string, unknown> {
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: text,
    },
  };
}

/** A project's server can have gate's name too, so the host's word on its source decides. */
function serverOf(tool: string, said: unknown): McpServer | null {
  const [, name, own] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  if (own === undefined) return null;
  const isNamed = name === "gate";
  if (!isObject(said)) return { tool: own, is_ours: isNamed ? null : false };
  return { tool: own, is_ours: isNamed && said.name === "gate" && said.source === "user" };
}

function outcomeOf(raw: Record<string, unknown>, failed: boolean): Outcome {
  const response = raw.tool_response;
  const said = isObject(response) ? response : {};
  const texts = [said.stdout, said.stderr].map(textOrNull).filter((one) => one !== null);
  const error = textOrNull(raw.error);
  const output = isObject(response) ? texts.join("\n") : textOrNull(response);
  const interrupted = said.interrupted === true;
  return {
    failed: failed || interrupted,
    exit_code: failed ? exitCodeIn(error, /exit(?:ed with)? code:? (-?\d+)/i) : null,
    output: output || error,
    error: failed ? error ?? NO_REASON : interrupted ? "Interrupted" : null,
    duration_ms: countOrNull(raw.duration_ms),
  };
}
