import {
  exitCodeIn,
  type HookCall,
  isObject,
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
  COMMON_INSTRUCTIONS,
  SERVER_LIST,
  SETTINGS,
} from "./host.ts";

const FOLDER = "{COPILOT_HOME|~/.copilot}";

export const COPILOT_CLI: AgentHost = {
  id: "copilot-cli",
  name: "Copilot CLI",
  program: "copilot",
  client_names: ["copilot-cli"],
  mcp: {
    format: "jsonc",
    key: "mcpServers",
    user_files: [{ path: `${FOLDER}/mcp-config.json` }],
    project_files: [".mcp.json", ".github/mcp.json"],
    // Without `tools` the model sees none of them.
    entry: { once: { type: "local", tools: ["*"], timeout: CALL_TIMEOUT_MS } },
    afterwards: "start a new session",
  },
  instructions: {
    file: COMMON_INSTRUCTIONS,
    also: [".github/copilot-instructions.md"],
    signs: [".github/hooks"],
  },
  protected_paths: [
    [".mcp.json", SERVER_LIST],
    ["mcp.json", SERVER_LIST],
    [".copilot", SETTINGS],
    [".github/hooks", "An agent host's hooks"],
  ],
  loads: ["~/.copilot/{copilot-instructions.md,agents,skills}"],
  hooks: {
    settings: {
      format: "json",
      user_file: { path: `${FOLDER}/hooks/gate.json`, sign: FOLDER },
      project_file: ".github/hooks/gate.json",
      frame: { version: 1 },
      is_grouped: false,
      events: [before("preToolUse"), after("postToolUse"), after("postToolUseFailure")],
      entry: (command, os) => ({
        type: "command",
        [os === "win32" ? "powershell" : "bash"]: command,
      }),
      shell_on_windows: "powershell",
      timeout: { key: "timeoutSec", unit: "s" },
      guarded_paths: ["~/.copilot/{mcp-config.json,hooks}"],
      guarded_folder: "~/.copilot",
      afterwards: "start a new session",
    },
    read,
    deny: (text) => ({ permissionDecision: "deny", permissionDecisionReason: text }),
    folder_keys: [],
    rewriting: {
      tools: ["bash"],
      only_unasked: false,
      answer: (modifiedArgs) => ({ modifiedArgs }),
    },
    canary,
    tools: {
      bash: "command",
      powershell: "command",
      create: "write",
      edit: "edit",
      str_replace_editor: "text_editor",
      apply_patch: "patch",
      view: "read",
      show_file: "read",
      glob: "list",
      grep: "search",
      rg: "search",
      ask_user: "quiet",
      exit_plan_mode: "quiet",
      list_bash: "quiet",
      read_bash: "quiet",
      report_intent: "quiet",
      stop_bash: "quiet",
      update_todo: "quiet",
    },
  },
};

/** Copilot names no event; only the input after a tool has a result. */
function read(raw: Record<string, unknown>): HookCall | null {
  if (raw.hookName !== undefined || raw.toolName === undefined) return null;
  const tool = textIn(raw, "toolName");
  const failure = textOrNull(raw.error) ?? messageIn(raw.error);
  const isAfter = raw.toolResult !== undefined || failure !== null;
  const own = /^gate-(\w+)$/.exec(tool)?.[1];
  return {
    event: isAfter ? "after" : "before",
    session: textIn(raw, "sessionId"),
    cwd: textIn(raw, "cwd"),
    tool,
    input: objectIn(raw, "toolArgs"),
    key: null,
    server: own === undefined ? null : { tool: own, is_ours: null },
    outcome: isAfter ? outcomeOf(raw.toolResult, failure) : null,
  };
}

function canary({ id, cwd, command }: CanaryCall) {
  const before = { sessionId: id, cwd, toolName: "bash", toolArgs: { command } };
  const textResultForLlm = "<shellId: 0 completed with exit code 0>";
  return { before, after: { ...before, toolResult: { resultType: "success", textResultForLlm } } };
}

function outcomeOf(result: unknown, failure: string | null): Outcome {
  const said = isObject(result) ? result : {};
  const output = textOrNull(said.textResultForLlm);
  const exit_code = exitCodeIn(output, /exit code (-?\d+)>?\s*$/);
  const failed = failure !== null || (exit_code ?? 0) !== 0 ||
    (said.resultType !== undefined && said.resultType !== "success");
  const error = failed ? failure ?? output ?? NO_REASON : null;
  return { failed, exit_code, output, error, duration_ms: null };
}

function messageIn(error: unknown): string | null {
  return isObject(error) ? textOrNull(error.message) ?? "failed" : null;
}
