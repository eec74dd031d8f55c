import { VERSION } from "../constants.ts";
import { CommandRuns, type RunCommand } from "./command_runs.ts";
import { type Connect, DaemonLink } from "./daemon_link.ts";
import { Holding } from "./holding.ts";
import type { ProgressTiming, SendProgress } from "./progress.ts";
import { type ClientInfo, ProjectSessions, type SessionsOptions } from "./project_sessions.ts";
import { toBusy, toInvalid, toProblem } from "./results.ts";
import {
  CallToolRequestSchema,
  type CallToolResult,
  createSdkServer,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Server,
} from "./sdk.ts";
import type { ToolCall, ToolContext } from "./tool_calls.ts";
import { listTools, TOOLS } from "./tools.ts";

/** What one MCP connection needs of the outside. */
export interface ConnectionOptions {
  connect: Connect;
  run: RunCommand;
  /** The words that start this very program. */
  program: () => readonly string[];
  /** The environment of the commands that are run here, unless it is this process' own. */
  env?: Record<string, string | undefined>;
  client: () => ClientInfo | undefined;
  /** Makes the finder of a call's project, once there is a link to ask the registry by. */
  locate: (link: DaemonLink) => SessionsOptions["locate"];
  now: () => number;
  id: () => string;
  log: (message: string) => void;
  timing?: ProgressTiming;
}

const INSTRUCTIONS =
  "This machine is gated: do every file change and every command through the tools of this " +
  "server, not through other file or shell tools. Policy may hold a call until a person has " +
  "decided: then it answers `pending` with an action_id, and await_action goes on waiting. " +
  "A refusal names the rule, the reason and often an alternative: follow it, and never look for " +
  "a way round.";

// A held call keeps a connection to the daemon busy, and the client has 64 of them.
const MAX_CALLS = 48;
const END_MS = 3_000;

/** One client's connection: its sessions, its held calls and the commands it runs. */
export class Connection {
  readonly #context: ToolContext;
  readonly #runs: CommandRuns;
  readonly #now: () => number;
  #calls = 0;

  constructor(options: ConnectionOptions) {
    const { now, client } = options;
    const link = new DaemonLink(options.connect, now);
    this.#runs = new CommandRuns({ ...options, link });
    const sessions = new ProjectSessions({ link, now, client, locate: options.locate(link) });
    const holding = new Holding({ ...options, link, runs: this.#runs });
    this.#context = { link, holding, sessions, now, program: options.program };
    this.#now = now;
  }

  /** Calls a tool. Whatever goes wrong is a result that the agent can act on. */
  async call(name: string, args: unknown, call: ToolCall): Promise<CallToolResult> {
    const tool = TOOLS.find((tool) => tool.name === name);
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`);
    const parsed = tool.input.safeParse(args ?? {});
    if (!parsed.success) return toInvalid(parsed.error);
    if (this.#calls >= MAX_CALLS) {
      return toBusy(MAX_CALLS);
    }
    this.#calls++;
    try {
      return await tool.run(parsed.data as never, this.#context, call);
    } catch (error) {
      return toProblem(error);
    } finally {
      this.#calls--;
    }
  }

  /** Whether something waits or runs. */
  get isBusy(): boolean {
    return this.#calls > 0 || this.#runs.isBusy;
  }

  /** Kills and reports what runs, ends the sessions. What is held stays held. */
  async close(): Promise<void> {
    await this.#runs.stop();
    await this.#context.sessions.end(this.#now() + END_MS);
  }
}

/** The MCP server of one transport, on a connection that may outlive it. */
export function createMcpServer(connection: Connection): Server {
  const info = { name: "gate", title: "Gate", version: VERSION };
  const server = createSdkServer(info, INSTRUCTIONS);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listTools() }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const { signal, _meta: meta } = extra;
    const token = meta?.progressToken;
    const send_progress: SendProgress | undefined = token === undefined
      ? undefined
      : (progress, total, message) => {
        const params = { progressToken: token, progress, total, message };
        // A client that has gone is noticed elsewhere.
        extra.sendNotification({ method: "notifications/progress", params }).catch(() => {});
      };
    return connection.call(params.name, params.arguments, { signal, meta, send_progress });
  });
  return server;
}
