// The SDK's types resolve only for some of its paths, hence the hints.
// @ts-types="@modelcontextprotocol/sdk/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unwrap } from "../../server/client.ts";
import { VERSION } from "../../server/constants.ts";
import { selfCommand } from "../../server/runtime/self.ts";
import { type Connection, ensureDaemon, openConnection } from "../daemon/connect.ts";
import { stopDaemon } from "../daemon/stop.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { CONFIG_FILE } from "../project.ts";

/** The result of an MCP tool call. */
export interface ToolAnswer {
  refused: boolean;
  facts: Record<string, unknown>;
}

/** The rules of the demo's project. */
const POLICIES = {
  defaultEffect: "ask",
  allowedPaths: ["src/**"],
  blockedPaths: [{
    pattern: ".env",
    reason: "Secrets stay out of an agent's hands",
    alternative: "Write .env.example and ask the person to fill in .env",
  }],
  allowedCommands: ["seq"],
  maxBashOutputBytes: 600,
};

/** A temporary project with its own daemon and agent; `close` removes all of it. */
export class Stage {
  readonly project: string;
  readonly reviewer: Connection;
  readonly #folder: string;
  readonly #io: Io;
  readonly #agent: Client;

  private constructor(folder: string, io: Io, reviewer: Connection, agent: Client) {
    this.#folder = folder;
    this.#io = io;
    this.#agent = agent;
    this.project = join(folder, "project");
    this.reviewer = reviewer;
  }

  /** Starts a daemon, and an MCP client that starts `gate mcp` as an agent host does. */
  static async open(outside: Io): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), "gate-demo-"));
    const project = join(folder, "project");
    const env = {
      ...outside.env,
      GATE_HOME: join(folder, "home"),
      GATE_PORT: String(await freePort()),
    };
    const io: Io = { ...outside, env, cwd: project };
    try {
      mkdirSync(join(project, "src"), { recursive: true });
      const config = { id: "demo", version: "2", policies: POLICIES };
      writeFileSync(join(project, CONFIG_FILE), JSON.stringify(config, null, 2));
      // The home is thrown away, so nobody sets a passphrase for it.
      await ensureDaemon(io, ["--auth", "none"]);
      const reviewer = await openConnection(io, { scope: "reviewer" });
      // A config that an agent's session shows first would have to be accepted.
      await unwrap(reviewer.client.api.hub.projects.$post({ json: { root: project } }));
      return new Stage(folder, io, reviewer, await connectAgent(io));
    } catch (error) {
      await clear(io, folder);
      throw error;
    }
  }

  /** Calls an MCP tool as the agent. */
  async call(name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
    const answer = await this.#agent.callTool({ name, arguments: args }, undefined, {
      timeout: 60_000,
    });
    return {
      refused: answer.isError === true,
      facts: (answer.structuredContent ?? {}) as Record<string, unknown>,
    };
  }

  /** The text of a project file on disk; null if it does not exist. */
  read(path: string): string | null {
    try {
      return readFileSync(join(this.project, path), "utf8");
    } catch {
      return null;
    }
  }

  /** Writes a project file, past the gate. */
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.project, path)), { recursive: true });
    writeFileSync(join(this.project, path), text);
  }

  async close(): Promise<void> {
    await this.#agent.close().catch(() => {});
    await clear(this.#io, this.#folder);
  }
}

async function clear(io: Io, folder: string): Promise<void> {
  await stopDaemon(placeOf(io)).catch(() => false);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** A port that is free at this moment. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Starts `gate mcp` in the working directory of `io` and connects an MCP client to it. */
async function connectAgent(io: Pick<Io, "env" | "cwd">): Promise<Client> {
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
