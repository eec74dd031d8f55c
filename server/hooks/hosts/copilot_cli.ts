import {
  exitCodeIn,
  type HookCall,
  type HostHooks,
  isObject,
  objectIn,
  type Outcome,
  textIn,
  textOrNull,
} from "../host_hooks.ts";

export const COPILOT_CLI: HostHooks = {
  read,
  go_on: {},
  deny: (text) => ({ permissionDecision: "deny", permissionDecisionReason: text }),
  folders: [],
  tools: {
    bash: "command",
    powershell: "command",
    create: "write",
    edit: "edit",
    str_replace_editor: "text_editor",
    apply_patch: "patch",
    view: "read",
    show_file: "read",
    glob: "search",
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
};

/** It names no event: what comes after a tool has its result. */
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

function outcomeOf(result: unknown, failure: string | null): Outcome {
  const said = isObject(result) ? result : {};
  const output = textOrNull(said.textResultForLlm);
  const exit_code = exitCodeIn(output, /exit code (-?\d+)>?\s*$/);
  const failed = failure !== null || (exit_code ?? 0) !== 0 ||
    (said.resultType !== undefined && said.resultType !== "success");
  const error = failed ? failure ?? output ?? "Its host says that it failed" : null;
  return { failed, exit_code, output, error, duration_ms: null };
}

function messageIn(error: unknown): string | null {
  return isObject(error) ? textOrNull(error.message) ?? "failed" : null;
}
