import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SPEAK } from "./stage.ts";

type Json = Record<string, unknown>;
type State = { id: string; tool: string; status: string; execution: string };

// Codex took this format over.
const LIKE_CLAUDE = [
  "SessionStart: passed over",
  "UserPromptSubmit: passed over",
  "PreToolUse mcp__gate__echo: default",
  "PostToolUse mcp__gate__echo: passed over",
  "PreToolUse mcp__gate__write_file: passed over",
  "PreToolUse Bash: Bash running",
  "PostToolUse Bash: Bash succeeded",
];

const COPILOT = [
  "source: passed over",
  "prompt: passed over",
  "toolName gate-echo: default",
  "permissionRequest gate/echo: passed over",
  "toolResult gate-echo: passed over",
  "toolName gate-write_file: passed over",
  "toolName bash: bash running",
  "permissionRequest bash: passed over",
  "toolResult bash: bash succeeded",
  "toolName create: default",
  "permissionRequest edit: passed over",
  "toolResult create: passed over",
  "reason: passed over",
];

/**
 * The expected result of each line when policy allows `echo` and names nothing else. The default
 * effect applies to a line with `default`; `passed over` changes nothing in the ledger.
 */
export const RECORDED: Record<string, string[]> = {
  "claude-code": [
    ...LIKE_CLAUDE,
    "PreToolUse Write: default",
    "PermissionRequest Write: passed over",
    "PreToolUse mcp__gate__elicit: default",
    "Elicitation: passed over",
    "ElicitationResult: passed over",
    "Notification: passed over",
    "PostToolUse mcp__gate__elicit: passed over",
    "Stop: passed over",
    "SessionEnd: passed over",
  ],
  codex: [
    ...LIKE_CLAUDE,
    "Stop: passed over",
  ],
  // The hooks of a user, then those of a repository.
  "copilot-cli": [
    ...COPILOT,
    "toolName gate-roots: default",
    "permissionRequest gate/roots: passed over",
    "toolResult gate-roots: passed over",
    ...COPILOT,
  ],
  // Somebody else started its server with our name.
  "gemini-cli": [
    "SessionStart: passed over",
    "BeforeAgent: passed over",
    "BeforeTool mcp_gate_echo: default",
    "AfterTool mcp_gate_echo: passed over",
    "BeforeTool mcp_gate_write_file: default",
    "BeforeTool run_shell_command: run_shell_command running",
    "AfterTool run_shell_command: run_shell_command succeeded",
    "AfterAgent: passed over",
    "SessionEnd: passed over",
    "BeforeTool mcp_gate_roots: default",
    "AfterTool mcp_gate_roots: passed over",
  ],
  "qwen-code": [
    "SessionStart: passed over",
    "Notification: passed over",
    "UserPromptSubmit: passed over",
    "PreToolUse mcp__gate__echo: default",
    "PostToolUse mcp__gate__echo: passed over",
    "UserPromptSubmit: passed over",
    "PreToolUse mcp__gate__write_file: passed over",
    "PostToolUse mcp__gate__write_file: passed over",
    "UserPromptSubmit: passed over",
    "PreToolUse run_shell_command: run_shell_command running",
    "PostToolUse run_shell_command: run_shell_command succeeded",
    "UserPromptSubmit: passed over",
    "PreToolUse run_shell_command: run_shell_command running",
    "PostToolUseFailure run_shell_command: run_shell_command failed",
    "UserPromptSubmit: passed over",
    "PreToolUse write_file: default",
    "PostToolUse write_file: passed over",
    "UserPromptSubmit: passed over",
    "PreToolUse tool_search: passed over",
    "PostToolUse tool_search: passed over",
    "UserPromptSubmit: passed over",
    "Stop: passed over",
  ],
  cursor: [
    "sessionStart: passed over",
    "preToolUse MCP:write_file: passed over",
    "beforeMCPExecution write_file: default",
    "preToolUse Shell: Shell running",
    "postToolUse Shell: Shell succeeded",
    "preToolUse Write: default",
    "postToolUse Write: passed over",
  ],
};

interface Playing {
  /** The folder that replaces the recorded folders. */
  root: string;
  ask: (line: Json) => Promise<Json>;
  actions: () => Promise<State[]>;
}

/** Sends each line of a recorded session. Returns the answers and the changes of the ledger. */
export async function playRecorded(host: string, { root, ask, actions }: Playing) {
  const said: string[] = [];
  for (const line of linesOf(host, root)) {
    const before = (await actions()).map(stateOf);
    const reason = SPEAK[host]!.reason(await ask(line));
    const moved = (await actions()).filter((one) => !before.includes(stateOf(one)));
    said.push(`${nameOf(line)}: ${verdict(reason, moved)}`);
  }
  return said;
}

function linesOf(host: string, root: string): Json[] {
  const file = new URL(`../../corpora/hooks/${host}.jsonl`, import.meta.url);
  const text = readFileSync(fileURLToPath(file), "utf8")
    .replaceAll(/\/home\/dev\/proj\/(?:alpha\/sub\/deep|alpha|hookp)/g, root);
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

function stateOf({ id, status, execution }: State): string {
  return [id, status, execution].join();
}

/** Copilot CLI names no event, so a key that only this event has names the line. */
function nameOf(line: Json): string {
  const unnamed = ["toolResult", "toolName", "prompt", "source", "reason"];
  const event = line.hook_event_name ?? line.hookName ?? unnamed.find((key) => key in line);
  const tool = line.tool_name ?? line.toolName;
  return [event, tool].filter((one) => one !== undefined).join(" ");
}

function verdict(reason: string | undefined, [moved]: State[]): string {
  if (reason === undefined) return moved ? `${moved.tool} ${moved.execution}` : "passed over";
  if (/^Held by gate \(action /.test(reason)) return "held";
  return /^Blocked by gate: .* \(action /.test(reason) ? "blocked" : reason;
}
