import { type Context, Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { LazyMcp } from "./lazy_mcp.ts";
import { type AppEnv, describe } from "../route.ts";
import type { McpRequest } from "./http_connections.ts";

interface McpServices {
  caller: Caller;
  mcp: LazyMcp;
}

/** `/mcp`: MCP over Streamable HTTP, the same tools as on stdio. */
export const mcpApi = new Hono<AppEnv<McpServices>>()
  .post("/", describe("MCP Streamable HTTP"), async (c) => {
    return await (await c.var.mcp.open()).answer(askedOf(c));
  })
  .delete("/", describe("End an MCP session"), async (c) => {
    await (await c.var.mcp.open()).end(askedOf(c));
    return c.body(null, 204);
  });

function askedOf(c: Context<AppEnv<McpServices>>): McpRequest {
  const { caller } = c.var;
  return { request: c.req.raw, json: c.env.json, caller, project: c.req.query("project") };
}
