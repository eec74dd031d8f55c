import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { createTestGate, type TestGateOptions } from "../../helpers.ts";

type Json = Record<string, unknown>;

/** A gate that answers the hooks of a host, with access to its ledger. */
export async function openHooks(host: string, options: TestGateOptions = {}) {
  const gate = await createTestGate(options);
  const post = async (input: unknown, query = "wait_ms=0") => {
    const response = await gate.request("POST", `/api/hooks/${host}?${query}`, input, "agent");
    const output = await response.json() as Json;
    return { status: response.status, held: response.headers.get("gate-held"), output };
  };
  const actions = async () => (await gate.project.actions.list({})).items;
  return { gate, post, actions };
}

export const BLOCKED_ENV = {
  defaultEffect: "allow" as const,
  blockedPaths: [".env", "secrets/**"],
};

/** Sends a call as that host would. Returns `allow`, `held` or the reason of the refusal. */
export async function openAsk(host: string, policies: Json = BLOCKED_ENV) {
  const { gate, post, actions } = await openHooks(host, { policies });
  const raw = async (input: unknown, query?: string) => {
    const { status, output, held } = await post(input, query);
    expect(status).toBe(200);
    const reason = SPEAK[host]!.reason(output);
    return held ? "held" : reason === undefined ? "allow" : reason;
  };
  const ask = (tool: string, input: Json, more: Json = {}) =>
    raw({ ...SPEAK[host]!.before(tool, input, { cwd: gate.root, key: "k" }), ...more });
  return { gate, actions, ask, raw };
}

/** One call in the format of each host. */
export const SPEAK: Record<string, Speaker> = {
  "claude-code": {
    command: "Bash",
    write: ["Write", (path, content) => ({ file_path: path, content })],
    before: (tool, input, at) => likeClaude("PreToolUse", tool, input, at),
    after: (tool, input, at) => ({
      ...likeClaude("PostToolUse", tool, input, at),
      tool_response: { stdout: "said\n", stderr: "" },
    }),
    failed: (tool, input, at) => ({
      ...likeClaude("PostToolUseFailure", tool, input, at),
      error: "Exit code 3",
    }),
    ...answering(denyLikeClaude),
  },
  codex: {
    command: "Bash",
    write: ["apply_patch", (path, content) => ({ command: addPatch(path, content) })],
    before: (tool, input, at) => likeClaude("PreToolUse", tool, input, at),
    after: (tool, input, at) => ({
      ...likeClaude("PostToolUse", tool, input, at),
      tool_response: "said\n",
    }),
    failed: null,
    ...answering(denyLikeClaude),
  },
  "copilot-cli": {
    command: "bash",
    write: ["create", (path, content) => ({ path, file_text: content })],
    before: (tool, input, at) => likeCopilot(tool, input, at),
    after: (tool, input, at) => ({
      ...likeCopilot(tool, input, at),
      toolResult: {
        resultType: "success",
        textResultForLlm: "said\n<shellId: 0 completed with exit code 0>",
      },
    }),
    failed: (tool, input, at) => ({
      ...likeCopilot(tool, input, at),
      toolResult: {
        resultType: "success",
        textResultForLlm: "no\n<shellId: 0 completed with exit code 3>",
      },
    }),
    ...answering((text) => ({ permissionDecision: "deny", permissionDecisionReason: text })),
  },
  "gemini-cli": {
    command: "run_shell_command",
    write: ["write_file", (path, content) => ({ file_path: path, content })],
    before: (tool, input, at) => likeClaude("BeforeTool", tool, input, { ...at, key: undefined }),
    after: (tool, input, at) => ({
      ...likeClaude("AfterTool", tool, input, { ...at, key: undefined }),
      tool_response: { llmContent: "said" },
    }),
    failed: (tool, input, at) => ({
      ...likeClaude("AfterTool", tool, input, { ...at, key: undefined }),
      tool_response: { llmContent: "Output: no\nExit Code: 3\n" },
    }),
    ...answering((reason) => ({ decision: "deny", reason })),
  },
  "qwen-code": {
    command: "run_shell_command",
    write: ["write_file", (path, content) => ({ file_path: path, content })],
    before: (tool, input, at) => likeClaude("PreToolUse", tool, input, at),
    after: (tool, input, at) => ({
      ...likeClaude("PostToolUse", tool, input, at),
      tool_response: { llmContent: "said" },
    }),
    failed: (tool, input, at) => ({
      ...likeClaude("PostToolUseFailure", tool, input, at),
      error: "Command: echo no\nOutput: no\nExit Code: 3\nSignal: (none)",
    }),
    ...answering(denyLikeClaude),
  },
  cursor: {
    command: "Shell",
    write: ["Write", (path, content) => ({ file_path: path, content })],
    before: (tool, input, at) => likeCursor("preToolUse", tool, input, at),
    after: (tool, input, at) => ({
      ...likeCursor("postToolUse", tool, input, at),
      tool_output: '{"exitCode":0,"stdout":"said"}',
    }),
    failed: (tool, input, at) => ({
      ...likeCursor("postToolUseFailure", tool, input, at),
      error_message: "exited with code 3",
    }),
    ...answering((text) => ({ permission: "deny", user_message: text, agent_message: text })),
  },
};

interface At {
  cwd: string;
  session?: string;
  key?: string;
}

export interface Speaker {
  command: string;
  write: [string, (path: string, content: string) => Json];
  before: (tool: string, input: Json, at: At) => Json;
  after: (tool: string, input: Json, at: At) => Json;
  failed: ((tool: string, input: Json, at: At) => Json) | null;
  /** A refusal in the format of the host. */
  deny: (text: string) => Json;
  /** The reason of a refusal; undefined for "go on". @throws Error for any other answer */
  reason: (output: Json) => string | undefined;
}

function answering(deny: Speaker["deny"]): Pick<Speaker, "deny" | "reason"> {
  const reason = (output: Json) => {
    if (isDeepStrictEqual(output, {})) return undefined;
    const text = textsIn(output).find((one) => isDeepStrictEqual(deny(one), output));
    if (text === undefined) throw new Error(`No host reads ${JSON.stringify(output)}`);
    return text;
  };
  return { deny, reason };
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value ? Object.values(value).flatMap(textsIn) : [];
}

function denyLikeClaude(text: string): Json {
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: text,
    },
  };
}

function likeClaude(hook_event_name: string, tool_name: string, tool_input: Json, at: At): Json {
  const { cwd, session = "s-1", key } = at;
  const id = key === undefined ? {} : { tool_use_id: key };
  return { session_id: session, cwd, hook_event_name, tool_name, tool_input, ...id };
}

function likeCopilot(toolName: string, toolArgs: Json, { cwd, session = "s-1" }: At): Json {
  return { sessionId: session, timestamp: 1, cwd, toolName, toolArgs };
}

function likeCursor(hook_event_name: string, tool_name: string, tool_input: Json, at: At): Json {
  const { cwd, session = "s-1", key } = at;
  const base = { conversation_id: session, workspace_roots: [cwd], hook_event_name };
  return { ...base, tool_name, tool_input, cwd, ...(key ? { tool_use_id: key } : {}) };
}

function addPatch(path: string, content: string): string {
  const lines = content.replace(/\n$/, "").split("\n").map((line) => `+${line}`);
  return ["*** Begin Patch", `*** Add File: ${path}`, ...lines, "*** End Patch"].join("\n");
}
