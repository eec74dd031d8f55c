// @ts-types="@modelcontextprotocol/sdk/server"
import { Server } from "@modelcontextprotocol/sdk/server/index.js";

// The SDK's types resolve only for a few of its paths, hence the hints: nothing else imports it.
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
export { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
export {
  CallToolRequestSchema,
  ErrorCode,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  McpError,
  RootsListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
export type { Server } from "@modelcontextprotocol/sdk/server";
export type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
export type {
  CallToolResult,
  JSONRPCMessage,
  ServerNotification,
  Tool,
} from "@modelcontextprotocol/sdk/types";

/** A bare MCP server that offers tools. */
export function createSdkServer(
  info: { name: string; title: string; version: string },
  instructions: string,
): Server {
  return new Server(info, {
    capabilities: { tools: {} },
    instructions,
    // Only elicitation asks for a validator, and the gate never elicits: spare each server its own.
    jsonSchemaValidator: {
      getValidator: () => () => ({
        valid: false,
        data: undefined,
        errorMessage: "the gate asks its clients for nothing",
      }),
    },
  });
}
