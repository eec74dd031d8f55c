// @ts-types="@modelcontextprotocol/sdk/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "../../../server/mcp/sdk.ts";

// @ts-types="@modelcontextprotocol/sdk/client/stdio"
export { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
export { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
export { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
export type { Client } from "@modelcontextprotocol/sdk/client";

/** The SDK's own client, which names itself as one of the hosts does. */
export async function connectClient(
  transport: Transport,
  name = "claude-code",
  hasRoots = false,
): Promise<Client> {
  const capabilities = hasRoots ? { roots: {} } : {};
  const client = new Client({ name, version: "2.1" }, { capabilities });
  await client.connect(transport);
  return client;
}

/** The answer of a tool in both forms, which must be the same. */
export interface Answer {
  isError: boolean;
  // deno-lint-ignore no-explicit-any -- a test looks into whatever came
  body: Record<string, any>;
}

/** Calls a tool; throws where the text and the structure of its answer differ. */
export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Answer> {
  const result = await client.callTool({ name, arguments: args });
  const [text] = result.content as { type: string; text: string }[];
  const structured = JSON.stringify(result.structuredContent);
  if (text?.text !== structured) throw new Error(`text ${text?.text} is not ${structured}`);
  return {
    isError: result.isError === true,
    body: result.structuredContent as Answer["body"],
  };
}
