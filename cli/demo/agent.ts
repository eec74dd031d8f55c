// The SDK's types resolve only for a few of its paths, hence the hints.
// @ts-types="@modelcontextprotocol/sdk/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { VERSION } from "../../server/constants.ts";
import { selfCommand } from "../../server/runtime/self.ts";
import type { Io } from "../io.ts";

/** A real MCP client on a `gate mcp` of its own, as an agent's host has it. */
export type Agent = Client;

/** Starts `gate mcp` in the working directory of `io` and connects to it. */
export async function connectAgent(io: Pick<Io, "env" | "cwd">): Promise<Agent> {
  const { command, args } = selfCommand();
  const transport = new StdioClientTransport({
    command,
    args: [...args, "mcp"],
    cwd: io.cwd,
    env: definedOnly(io.env),
    stderr: "ignore",
  });
  const agent = new Client({ name: "demo-agent", version: VERSION });
  await agent.connect(transport);
  return agent;
}

function definedOnly(env: Io["env"]): Record<string, string> {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]);
  return Object.fromEntries(entries);
}
