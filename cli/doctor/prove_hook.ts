import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { openConnection } from "../daemon/connect.ts";
import type { Platform } from "../hosts/host.ts";
import type { Io } from "../io.ts";
import type { InstalledHook } from "./hooks.ts";
import type { Findings } from "./patient.ts";
import { withdraw } from "./withdraw.ts";

const TIMEOUT_MS = 60_000;
const PAUSE_MS = 100;

/** One call of a host's own tool, in that host's words. */
interface Call {
  id: string;
  cwd: string;
  command: string;
}

type Speaker = (call: Call) => { before: object; after: object };

const SPEAKERS: Partial<Record<Platform, Speaker>> = {
  "claude-code": (call) => likeClaude(call, { stdout: "", stderr: "", interrupted: false }),
  codex: (call) => likeClaude(call, ""),
  "copilot-cli": ({ id, cwd, command }) => {
    const before = { sessionId: id, cwd, toolName: "bash", toolArgs: { command } };
    const textResultForLlm = "<shellId: 0 completed with exit code 0>";
    return {
      before,
      after: { ...before, toolResult: { resultType: "success", textResultForLlm } },
    };
  },
  "gemini-cli": ({ id, cwd, command }) => {
    const call = { session_id: id, cwd, tool_name: "run_shell_command", tool_input: { command } };
    const tool_response = { llmContent: "Exit Code: 0" };
    return {
      before: { ...call, hook_event_name: "BeforeTool" },
      after: { ...call, hook_event_name: "AfterTool", tool_response },
    };
  },
  cursor: ({ id, cwd, command }) => {
    const tool = { tool_name: "Shell", tool_input: { command }, tool_use_id: id };
    const call = { conversation_id: id, cwd, workspace_roots: [cwd], ...tool };
    return {
      before: { ...call, hook_event_name: "preToolUse" },
      after: { ...call, hook_event_name: "postToolUse", tool_output: '{"exitCode":0}' },
    };
  },
};

function likeClaude({ id, cwd, command }: Call, tool_response: unknown) {
  const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: id };
  const call = { session_id: id, cwd, ...tool };
  return {
    before: { ...call, hook_event_name: "PreToolUse" },
    after: { ...call, hook_event_name: "PostToolUse", tool_response },
  };
}

/** Asks a hook as its host would about a command that nobody runs, and looks for it in the ledger. */
export async function proveHook(
  io: Io,
  { host, name, line }: InstalledHook,
  { root, found }: { root: string; found: Findings },
): Promise<void> {
  const again = `gate global-setup --enforce --host ${host.id}`;
  const id = `gate-doctor-${randomUUID().slice(0, 8)}`;
  const said = SPEAKERS[host.id]!({ id, cwd: root, command: `true ${id}` });
  try {
    const asked = ask(io, line, said.before);
    const action = await findCommand(io, { agent: host.id, id, asked });
    const { code, stderr } = await asked;
    if (action === null) {
      const why = stderr.trim().split("\n")[0] || `it ended with ${code}`;
      return found.fail(`${name}'s hook is not seen in the ledger: ${why}`, again);
    }
    // Its host would say what came of it; else it would stay open.
    if (action.status === "approved") await ask(io, line, said.after);
    const how = action.status === "pending" ? "held, and withdrawn" : action.status;
    found.ok(`${name}'s hook: seen in the ledger as ${action.id} (${how})`);
  } catch (error) {
    found.fail(`${name}'s hook does not work: ${(error as Error).message}`, again);
  }
}

interface Asked {
  code: number | null;
  stderr: string;
}

/** Starts the hook's command line in a shell, as hosts do. */
function ask(io: Io, line: string, input: object): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const child = spawn(line, {
      shell: true,
      env: io.env as NodeJS.ProcessEnv,
      timeout: TIMEOUT_MS,
      stdio: ["pipe", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => stderr = (stderr + chunk).slice(0, 4_096));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stderr }));
    // It may have ended without reading.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  });
}

/** The canary in the ledger; one that is held is withdrawn, so that the hook has its answer. */
async function findCommand(
  io: Io,
  { agent, id, asked }: { agent: string; id: string; asked: Promise<Asked> },
): Promise<Action | null> {
  let ended = false;
  asked.then(() => ended = true, () => ended = true);
  for (;;) {
    const isLast = ended;
    const action = await look(io, agent, id);
    if (action?.status === "pending") await withdraw(io, action);
    if (action !== null || isLast) return action;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function look(io: Io, agent: string, id: string): Promise<Action | null> {
  const { client } = await openConnection(io, { scope: "viewer" });
  const query = { agent, limit: "20" };
  const { items } = await unwrap(client.api.global.actions.$get({ query }));
  return items.find(({ command }) => command?.includes(id)) ?? null;
}
