import process from "node:process";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import {
  type Answer,
  callTool,
  type Client,
  connectClient,
  ListRootsRequestSchema,
  StdioClientTransport,
  StreamableHTTPClientTransport,
} from "../server/mcp/sdk_client.ts";
import { until, type World } from "./world.ts";

/** The policy of the test projects. */
export const POLICIES = {
  defaultEffect: "allow",
  askPaths: ["held/**"],
  askCommands: ["sleep", "printf"],
  blockedPaths: [{
    pattern: ".env",
    reason: "secrets stay out",
    alternative: "write .env.example",
  }],
  maxBashOutputBytes: 2000,
};

/** An agent that is connected to `gate mcp` or to the daemon's `/mcp`. */
export interface Agent {
  client: Client;
  call: (name: string, args?: Record<string, unknown>) => Promise<Answer>;
  /** Kills `gate mcp`, as a crash of the host does. */
  kill: () => Promise<void>;
  close: () => Promise<void>;
}

export interface HostOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** The MCP roots of the host; none by default. */
  roots?: string[];
}

/** Connects the SDK's client to its own `gate mcp` process. */
export async function connect(
  world: World,
  { env = {}, cwd = world.project, roots }: HostOptions = {},
): Promise<Agent> {
  const [command, ...args] = world.command(["mcp"]);
  const transport = new StdioClientTransport({
    command: command!,
    args,
    cwd,
    env: { ...world.env, ...env },
    stderr: "ignore",
  });
  const client = await connectClient(transport, "claude-code", roots !== undefined);
  if (roots) {
    client.setRequestHandler(ListRootsRequestSchema, () => ({
      roots: roots.map((root) => ({ uri: pathToFileURL(root).href })),
    }));
  }
  const kill = async () => {
    process.kill(transport.pid!, "SIGKILL");
    await client.close();
  };
  return agentOf(client, kill);
}

/** Connects the SDK's client to the daemon's `/mcp`. */
export async function connectOverHttp(world: World, scope: string): Promise<Agent> {
  const url = new URL(`http://localhost:${world.port}/mcp?project=demo`);
  const headers = { authorization: `Bearer ${await world.token(scope)}` };
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  return agentOf(await connectClient(transport), () => Promise.resolve());
}

function agentOf(client: Client, kill: () => Promise<void>): Agent {
  return {
    client,
    call: (name, args) => callTool(client, name, args),
    kill,
    close: () => client.close(),
  };
}

/** Sends one review request, which must succeed. */
export async function decide(
  world: World,
  id: string,
  verb: string,
  body: unknown = {},
): Promise<void> {
  const { status, body: said } = await world.api("POST", `/api/actions/${id}/${verb}`, body);
  expect(said, said.detail).toMatchObject({ id });
  expect(status).toBe(200);
}

/** Waits until an action is held, then returns it. */
// deno-lint-ignore no-explicit-any -- tests read any field
export function heldAction(world: World): Promise<any> {
  return until(
    "an action is held",
    async () => (await world.api("GET", "/api/global/approvals/pending")).body.items[0],
  );
}

/** The `initialize` request as one line. */
export function initialize(id: number, protocolVersion = "2025-11-25"): string {
  const clientInfo = { name: "raw", version: "1" };
  const params = { protocolVersion, capabilities: {}, clientInfo };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params });
}

/** A `tools/call` request as one line. */
export function toolCall(id: number, name: string, args: Record<string, unknown>): string {
  const params = { name, arguments: args };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
}
