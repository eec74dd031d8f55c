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

/** What an agent may do in the projects of these tests. */
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

/** An agent as a host runs one, or one that speaks HTTP. */
export interface Agent {
  client: Client;
  call: (name: string, args?: Record<string, unknown>) => Promise<Answer>;
  /** Ends the server as a crash of the host would. */
  kill: () => Promise<void>;
  close: () => Promise<void>;
}

export interface HostOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** The folders that the host calls its roots; it has none unless given. */
  roots?: string[];
}

/** The SDK's client on a `gate mcp` of its own. */
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

/** The SDK's client on the daemon's own `/mcp`. */
export async function connectOverHttp(world: World, scope: string): Promise<Agent> {
  const url = new URL(`http://localhost:${world.port}/mcp`);
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

/** Does what a reviewer does. */
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

/** The one action that waits for a person, once there is one. */
// deno-lint-ignore no-explicit-any -- a test looks into whatever came
export function heldAction(world: World): Promise<any> {
  return until(
    "an action is held",
    async () => (await world.api("GET", "/api/global/approvals/pending")).body.items[0],
  );
}

/** The line with which a client begins. */
export function initialize(id: number, protocolVersion = "2025-11-25"): string {
  const clientInfo = { name: "raw", version: "1" };
  const params = { protocolVersion, capabilities: {}, clientInfo };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params });
}

/** The line that calls a tool. */
export function toolCall(id: number, name: string, args: Record<string, unknown>): string {
  const params = { name, arguments: args };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
}
