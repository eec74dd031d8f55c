/** The structured answer of a tool. */
export type ToolAnswer = Record<string, unknown> & {
  action_id: string;
  message: string;
  output: string;
};

/** A daemon that answers an agent's requests. */
export interface AgentGate {
  request: (
    method: string,
    path: string,
    body: unknown,
    scope: "agent",
    headers: Record<string, string>,
  ) => Response | Promise<Response>;
}

/** An agent that is connected to the daemon's `/mcp`, in a session of its own. */
export async function connectAgent(gate: AgentGate) {
  let session: Record<string, string> = {};
  const send = async (method: string, params: unknown) => {
    const response = await gate.request(
      "POST",
      "/mcp",
      { jsonrpc: "2.0", id: 1, method, params },
      "agent",
      {
        ...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
        ...session,
      },
    );
    const text = await response.text();
    const id = response.headers.get("mcp-session-id");
    if (id !== null) session = { "mcp-session-id": id };
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result;
  };
  await send("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "codex", version: "1" },
  });
  const call = async (name: string, args: Record<string, unknown>): Promise<ToolAnswer> =>
    (await send("tools/call", { name, arguments: args })).structuredContent;
  return {
    run: (command: string, args: Record<string, unknown> = {}) =>
      call("run_command", { command, ...args }),
    /** Waits for the end of an action. */
    end: (action_id: string) => call("await_action", { action_id, wait_ms: 20_000 }),
  };
}

/** Connects an agent. Returns its `run_command`. */
export async function connect(gate: AgentGate) {
  return (await connectAgent(gate)).run;
}
