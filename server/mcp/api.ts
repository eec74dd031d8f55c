import { type Context, Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { describe } from "../openapi.ts";
import type { McpRequest } from "./http_connections.ts";

/** `/mcp`: MCP over Streamable HTTP, the same tools as on stdio. */
export const mcpApi = new Hono<AppEnv>()
  .post("/", describe("MCP Streamable HTTP"), async (c) => {
    return await (await c.var.mcp.open()).answer(askedOf(c));
  })
  .delete("/", describe("End an MCP session"), async (c) => {
    await (await c.var.mcp.open()).end(askedOf(c));
    return c.body(null, 204);
  });

function askedOf(c: Context<AppEnv>): McpRequest {
  const { caller } = c.var;
  return { request: c.req.raw, json: c.env.json, caller, project: c.req.query("project") };
}
