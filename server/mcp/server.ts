import { VERSION } from "../constants.ts";
import { CommandRuns, type RunCommand } from "./command_runs.ts";
import { type Connect, DaemonLink } from "./daemon_link.ts";
import type { DirectCall } from "./direct_calls.ts";
import { Holding, type ProgressTiming, type SendProgress } from "./holding.ts";
import { type ClientInfo, ProjectSessions, type SessionsOptions } from "./project_sessions.ts";
import { toBusy, toInvalid, toProblem } from "./results.ts";
import {
  type CallToolResult,
  createSdkServer,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Server,
  type ServerNotification,
} from "./sdk.ts";
import { ownEnvironment } from "../runtime/self.ts";
import { listTools, type ToolCall, type ToolContext, TOOLS } from "./tools.ts";

/** The dependencies of one MCP connection. */
export interface ConnectionOptions {
  connect: Connect;
  run: RunCommand;
  /** The words that start this program. */
  program: () => readonly string[];
  /** The environment of commands; the default is that of this process. */
  env?: Record<string, string | undefined>;
  client: () => ClientInfo | undefined;
  identity: SessionsOptions["identity"];
  /** Creates the function that finds a call's project through this link. */
  locate: (link: DaemonLink) => SessionsOptions["locate"];
  now: () => number;
  id: () => string;
  log: (message: string) => void;
  timing?: ProgressTiming;
}

const INSTRUCTIONS =
  "This machine is gated. Change files and run commands only through the tools of this server, " +
  "not through other file or shell tools. If a person must decide first, a call returns `pending` " +
  "and an action_id: call await_action with it. A refusal names the rule, the reason and often " +
  "an alternative: follow it and do not work around it.";

// Each held call uses a connection to the daemon, and the client has 64 of them.
const MAX_CALLS = 48;
const END_MS = 3_000;

/** One client's connection: its sessions, its held calls and its running commands. */
export class Connection {
  readonly #context: ToolContext;
  readonly #runs: CommandRuns;
  readonly #now: () => number;
  #calls = 0;

  constructor(options: ConnectionOptions) {
    const { now, client, identity } = options;
    const link = new DaemonLink(options.connect, now);
    this.#runs = new CommandRuns({ ...options, link });
    const sessions = new ProjectSessions({
      link,
      now,
      client,
      identity,
      locate: options.locate(link),
    });
    const holding = new Holding({ ...options, link, runs: this.#runs });
    const search_path = (options.env ?? ownEnvironment())["PATH"];
    this.#context = { link, holding, sessions, now, program: options.program, search_path };
    this.#now = now;
  }

  /** Calls a tool. An error becomes a tool result, so that the agent can react to it. */
  async call(name: string, args: unknown, call: ToolCall): Promise<CallToolResult> {
    const tool = TOOLS.find((tool) => tool.name === name);
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`);
    const parsed = tool.input.safeParse(args ?? {});
    if (!parsed.success) return toInvalid(parsed.error);
    if (this.#calls >= MAX_CALLS) return toBusy(MAX_CALLS);
    this.#calls++;
    try {
      return await tool.run(parsed.data as never, this.#context, call);
    } catch (error) {
      return toProblem(error);
    } finally {
      this.#calls--;
    }
  }

  /** Whether a call waits or a command runs. */
  get isBusy(): boolean {
    return this.#calls > 0 || this.#runs.isBusy;
  }

  /** Kills running commands, reports them and ends the sessions with their held actions. */
  async close(): Promise<void> {
    await this.stop();
    await this.#context.sessions.end(this.#now() + END_MS);
  }

  /** Kills running commands and reports them. The sessions stay open for their client. */
  async stop(): Promise<void> {
    await this.#runs.stop();
  }
}

/** The MCP server of one transport. Its connection may outlive it. */
export function createMcpServer(connection: Connection): Server {
  const info = { name: "gate", title: "Gate", version: VERSION };
  const server = createSdkServer(info, INSTRUCTIONS);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listTools() }));
  // As a handler of its own the SDK would check each call twice and its result once: longer than all
  // the rest takes here, and the tool's schema checks the arguments anyway.
  server.fallbackRequestHandler = async (request, { signal, sendNotification }) => {
    if (request.method !== CALL) throw new McpError(ErrorCode.MethodNotFound, "Method not found");
    const notify: DirectCall["notify"] = (method, params) => {
      // The transport reports a client that has disconnected.
      sendNotification({ method, params } as ServerNotification).catch(() => {});
    };
    return await callTool(connection, { request, signal, notify });
  };
  return server;
}

/** The method of a tool call. */
export const CALL = "tools/call";

/** Answers one tool call. @throws McpError */
export async function callTool(
  connection: Connection,
  { request, signal, notify }: Omit<DirectCall, "request"> & {
    request: Pick<DirectCall["request"], "params">;
  },
): Promise<CallToolResult> {
  const { name, args } = readCall(request.params);
  const meta = request.params?._meta;
  const token = meta?.progressToken;
  const send_progress: SendProgress | undefined = token === undefined
    ? undefined
    : (progress, total, message) =>
      notify("notifications/progress", { progressToken: token, progress, total, message });
  return await connection.call(name, args, { signal, meta, send_progress });
}

/** The tool of a call and its arguments, which are not checked yet. @throws McpError */
function readCall(params: Record<string, unknown> = {}): { name: string; args: unknown } {
  const { name, arguments: args } = params;
  if (typeof name === "string" && (args === undefined || isObject(args))) return { name, args };
  throw new McpError(ErrorCode.InvalidParams, "A call needs a name, and arguments in an object");
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
