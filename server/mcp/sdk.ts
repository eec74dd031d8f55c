// @ts-types="@modelcontextprotocol/sdk/server"
import { Server } from "@modelcontextprotocol/sdk/server/index.js";

// Deno resolves the SDK's types only with these hints, so no other file imports the SDK.
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
export { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
export {
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
  JSONRPCRequest,
  RequestId,
  ServerNotification,
  Tool,
} from "@modelcontextprotocol/sdk/types";

/** An MCP server without tools; the caller sets the request handlers. */
export function createSdkServer(
  info: { name: string; title: string; version: string },
  instructions: string,
): Server {
  return new Server(info, {
    capabilities: { tools: {} },
    instructions,
    // Only elicitation needs a validator, and the gate never elicits: a real one costs memory.
    jsonSchemaValidator: {
      getValidator: () => () => ({
        valid: false,
        data: undefined,
        errorMessage: "the gate does not use elicitation",
      }),
    },
  });
}
