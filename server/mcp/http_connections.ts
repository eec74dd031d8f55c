import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type { RunCommand } from "./command_runs.ts";
import type { DaemonLink } from "./daemon_link.ts";
import type { Detected, Undetected } from "../projects/detect.ts";
import type { ClientInfo } from "./project_sessions.ts";
import { WebStandardStreamableHTTPServerTransport } from "./sdk.ts";
import { Connection, createMcpServer } from "./server.ts";

/** One request to `/mcp`, as the guard let it in. */
export interface McpRequest {
  request: Request;
  /** The body, read and checked. */
  json: unknown;
  caller: Caller;
  /** The `?project=` of the address, which counts when a call names none. */
  project?: string;
}

type Awaitable<T> = T | Promise<T>;

export interface HttpOptions {
  /** The daemon's own routes, entered behind the guard. */
  fetch: (request: Request, bindings: { caller: Caller; json: unknown }) => Awaitable<Response>;
  run: RunCommand;
  /** The words that start this very program. */
  program: () => readonly string[];
  now: () => number;
  id: () => string;
  log: (message: string) => void;
}

const SESSION_HEADER = "mcp-session-id";
const MAX_CONNECTIONS = 256;
const LOOKUP_MS = 5_000;

/**
 * MCP over HTTP: each request gets a transport of its own, so nothing is held in memory for a
 * client but its open sessions. What a client said of itself travels in its session id, hence a
 * restart of the daemon costs it nothing. Commands are run by the daemon, in its environment.
 */
export class HttpConnections {
  readonly #options: HttpOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Answers one POST. */
  async answer(asked: McpRequest): Promise<Response> {
    const given = asked.request.headers.get(SESSION_HEADER);
    const client = clientOfBody(asked.json);
    const session = client ? this.#newSession(client) : given ?? this.#newSession(NOBODY);
    const server = createMcpServer(this.#connection(session, asked));
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
    });
    server.onerror = (error) => this.#options.log(error.message);
    await server.connect(transport);
    asked.request.signal.addEventListener("abort", () => void server.close(), { once: true });
    const response = await transport.handleRequest(asked.request, { parsedBody: asked.json });
    if (client) response.headers.set(SESSION_HEADER, session);
    return response;
  }

  /** The client has ended its session. */
  async end(asked: McpRequest): Promise<void> {
    const key = keyOf(asked.request.headers.get(SESSION_HEADER) ?? "", asked);
    const connection = this.#connections.get(key);
    this.#connections.delete(key);
    await connection?.close();
  }

  /** Kills and reports what runs for any client. */
  async close(): Promise<void> {
    const open = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.allSettled(open.map((connection) => connection.close()));
  }

  #newSession(client: ClientInfo): string {
    const said = JSON.stringify([client.name.slice(0, 128), client.version.slice(0, 64)]);
    return `${this.#options.id()}.${Buffer.from(said).toString("base64url")}`;
  }

  #connection(session: string, asked: McpRequest): Connection {
    const key = keyOf(session, asked);
    const known = this.#connections.get(key);
    if (!known && this.#connections.size >= MAX_CONNECTIONS) this.#dropOldest();
    const connection = known ?? this.#open(session, asked);
    this.#connections.delete(key);
    this.#connections.set(key, connection);
    return connection;
  }

  #open(session: string, { caller, project }: McpRequest): Connection {
    const { fetch, now } = this.#options;
    return new Connection({
      ...this.#options,
      client: () => clientOfSession(session),
      connect: () =>
        Promise.resolve({
          url: "http://localhost",
          fetch: async (input, init) => {
            const json = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
            return await fetch(new Request(input, init), { caller, json });
          },
        }),
      locate: (link) => (argument) => locate(link, now, argument ?? project),
    });
  }

  #dropOldest(): void {
    for (const [key, connection] of this.#connections) {
      if (connection.isBusy) continue;
      this.#connections.delete(key);
      void connection.close();
      return;
    }
    throw new GateError("rate_limited", `Cannot serve over ${MAX_CONNECTIONS} clients at once`);
  }
}

// The caller is part of it: a session id that was seen elsewhere lends nobody another's rights.
function keyOf(session: string, { caller, project }: McpRequest): string {
  return [caller.scope, caller.id, project ?? "", session].join("\0");
}

const NOBODY: ClientInfo = { name: "mcp-http", version: "" };

/** Over HTTP the daemon cannot see the client's folders: an id, or the only project there is. */
async function locate(
  link: DaemonLink,
  now: () => number,
  named: string | undefined,
): Promise<Detected | Undetected> {
  const { items } = await link.call(
    (client) => client.api.hub.projects.$get(),
    { until: now() + LOOKUP_MS },
  );
  const found = named === undefined && items.length === 1
    ? items[0]
    : items.find(({ id, roots }) => named !== undefined && (id === named || roots.includes(named)));
  if (!found) {
    const reason = named ? `No project is registered as "${named}"` : "No project was named";
    return { reason, projects: items };
  }
  const root = found.roots.find((root) => root === named) ?? found.roots[0] ?? "";
  return { project_id: found.id, root, rule: named ? "argument" : "only_project" };
}

/** What an `initialize` says of its client; null for any other message. */
function clientOfBody(json: unknown): ClientInfo | null {
  const message = json as { method?: unknown; params?: { clientInfo?: unknown } } | null;
  if (typeof message !== "object" || message?.method !== "initialize") return null;
  const { name, version } = (message.params?.clientInfo ?? {}) as Record<string, unknown>;
  return {
    name: typeof name === "string" && name ? name : NOBODY.name,
    version: typeof version === "string" ? version : "",
  };
}

function clientOfSession(session: string): ClientInfo {
  try {
    const said = JSON.parse(Buffer.from(session.split(".")[1] ?? "", "base64url").toString());
    const [name, version] = said as unknown[];
    if (typeof name === "string" && typeof version === "string") return { name, version };
  } catch {
    // Not one of our ids: any client may send what it likes.
  }
  return NOBODY;
}
