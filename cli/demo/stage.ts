import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Connection, openConnection } from "../daemon/connect.ts";
import { stopDaemon } from "../daemon/stop.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { CONFIG_FILE } from "../project.ts";
import { type Agent, connectAgent } from "./agent.ts";

/** What a tool of the gate answered. */
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
  allowedCommands: ["printf"],
  maxBashOutputBytes: 600,
};

/** A project, a home, a port and an agent of their own; nothing of it is left afterwards. */
export class Stage {
  readonly project: string;
  readonly reviewer: Connection;
  readonly #folder: string;
  readonly #io: Io;
  readonly #agent: Agent;

  private constructor(folder: string, io: Io, reviewer: Connection, agent: Agent) {
    this.#folder = folder;
    this.#io = io;
    this.#agent = agent;
    this.project = join(folder, "project");
    this.reviewer = reviewer;
  }

  /** Starts a real daemon and a real MCP client on `gate mcp`. */
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
      const reviewer = await openConnection(io, { scope: "reviewer" });
      return new Stage(folder, io, reviewer, await connectAgent(io));
    } catch (error) {
      await clear(io, folder);
      throw error;
    }
  }

  /** Lets the agent call a tool. */
  async call(name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
    const answer = await this.#agent.callTool({ name, arguments: args }, undefined, {
      timeout: 60_000,
    });
    return {
      refused: answer.isError === true,
      facts: (answer.structuredContent ?? {}) as Record<string, unknown>,
    };
  }

  /** A file of the project as it is on disk; null when it is absent. */
  read(path: string): string | null {
    try {
      return readFileSync(join(this.project, path), "utf8");
    } catch {
      return null;
    }
  }

  /** Puts a file there before the agent comes. */
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

/** A port that nobody has at this moment. */
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
