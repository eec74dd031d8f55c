import {
  countOrNull,
  exitCodeIn,
  type HookCall,
  type HostHooks,
  isObject,
  type McpServer,
  objectIn,
  type Outcome,
  textIn,
  textOrNull,
} from "../host_hooks.ts";

const BEFORE = new Set(["PreToolUse"]);
const AFTER = new Set(["PostToolUse", "PostToolUseFailure"]);

export const CLAUDE_CODE: HostHooks = {
  read: (raw) => readLikeClaude(raw),
  go_on: {},
  deny: denyLikeClaude,
  folders: [],
  tools: {
    Bash: "command",
    PowerShell: "command",
    Write: "write",
    Edit: "edit",
    MultiEdit: "edit",
    NotebookEdit: "notebook",
    Read: "read",
    NotebookRead: "read",
    LS: "search",
    Glob: "search",
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
};

/** Codex took this format over. */
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

/** A server of a project can have our name too: the host says whose settings it stands in. */
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
    error: failed ? error ?? "Its host says that it failed" : interrupted ? "Interrupted" : null,
    duration_ms: countOrNull(raw.duration_ms),
  };
}
