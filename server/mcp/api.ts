import { type Context, Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { Environment } from "../environment.ts";
import { type AppEnv, describe } from "../route.ts";
import { identify, OWN_PID } from "../runtime/processes.ts";
import { ownEnvironment, selfWords } from "../runtime/self.ts";
import { runCommand } from "../runtime/spawn.ts";
import { WaitingSandbox } from "../runtime/waiting_sandbox.ts";
import type { HttpConnections, HttpOptions, McpRequest } from "./http_connections.ts";

interface McpServices {
  caller: Caller;
  mcp: LazyMcp;
}

/** `/mcp`: MCP over Streamable HTTP, the same tools as on stdio. */
export const mcpApi = new Hono<AppEnv<McpServices>>()
  .post("/", describe("MCP Streamable HTTP"), async (c) => {
    return await (await c.var.mcp.open()).answer(toRequest(c));
  })
  .delete("/", describe("End an MCP session"), async (c) => {
    await (await c.var.mcp.open()).end(toRequest(c));
    return c.body(null, 204);
  });

function toRequest(c: Context<AppEnv<McpServices>>): McpRequest {
  const { caller } = c.var;
  return { request: c.req.raw, json: c.env.json, caller, project: c.req.query("project") };
}

/** MCP over HTTP, loaded with its first request because most daemons never get one. */
export class LazyMcp {
  readonly #fetch: HttpOptions["fetch"];
  readonly #environment: Pick<Environment, "now" | "log">;
  /** Of all clients: its process is the same for each of them. */
  readonly #waiting = new WaitingSandbox();
  #opened: Promise<HttpConnections> | null = null;

  constructor(fetch: HttpOptions["fetch"], environment: Pick<Environment, "now" | "log">) {
    this.#fetch = fetch;
    this.#environment = environment;
  }

  open(): Promise<HttpConnections> {
    return this.#opened ??= this.#load();
  }

  /** Kills the running commands of all clients and reports them. */
  async close(): Promise<void> {
    await (await this.#opened)?.close();
    this.#waiting.close();
  }

  async #load(): Promise<HttpConnections> {
    const { HttpConnections } = await import("./http_connections.ts");
    const { now, log } = this.#environment;
    return new HttpConnections({
      fetch: this.#fetch,
      run: (command, order) => runCommand(command, { ...order, waiting: this.#waiting }),
      program: () => selfWords(ownEnvironment()),
      now,
      id: () => crypto.randomUUID(),
      identity: () => identify(OWN_PID),
      log: (message) => log("warn", message),
    });
  }
}
