import type { Caller } from "../auth/schema.ts";
import { MACHINE_ID } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { RunCommand } from "./command_runs.ts";
import type { DaemonLink } from "./daemon_link.ts";
import type { Detected, Undetected } from "../projects/detect.ts";
import type { HubProject } from "../projects/schema.ts";
import type { ClientInfo, SessionsOptions } from "./project_sessions.ts";
import { WebStandardStreamableHTTPServerTransport } from "./sdk.ts";
import { Connection, createMcpServer } from "./server.ts";

/** One request to `/mcp` that the guard admitted. */
export interface McpRequest {
  request: Request;
  /** The parsed body. */
  json: unknown;
  caller: Caller;
  /** The `?project=` of the URL, used when a call names no project. */
  project?: string;
}

type Awaitable<T> = T | Promise<T>;

export interface HttpOptions {
  /** The daemon's own routes, without the guard. */
  fetch: (request: Request, bindings: { caller: Caller; json: unknown }) => Awaitable<Response>;
  run: RunCommand;
  /** The words that start this program. */
  program: () => readonly string[];
  now: () => number;
  id: () => string;
  /** The daemon's process. */
  identity: SessionsOptions["identity"];
  log: (message: string) => void;
}

const SESSION_HEADER = "mcp-session-id";
const MAX_CONNECTIONS = 256;
const LOOKUP_MS = 5_000;

/**
 * MCP over HTTP. Each request gets its own transport, so only the open sessions of a client stay in
 * memory. The client's name travels in its session id, so it survives a restart of the daemon. The
 * daemon runs the commands, in its own environment.
 */
export class HttpConnections {
  readonly #options: HttpOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Answers one POST. */
  async answer(received: McpRequest): Promise<Response> {
    const given = received.request.headers.get(SESSION_HEADER);
    const client = clientOfBody(received.json);
    const session = client ? this.#newSession(client) : given ?? this.#newSession(NOBODY);
    const server = createMcpServer(this.#connection(session, received));
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
    });
    server.onerror = (error) => this.#options.log(error.message);
    await server.connect(transport);
    received.request.signal.addEventListener("abort", () => void server.close(), { once: true });
    const response = await transport.handleRequest(received.request, { parsedBody: received.json });
    if (client) response.headers.set(SESSION_HEADER, session);
    return response;
  }

  /** Ends the session of a client. */
  async end(received: McpRequest): Promise<void> {
    const key = keyOf(received.request.headers.get(SESSION_HEADER) ?? "", received);
    const connection = this.#connections.get(key);
    this.#connections.delete(key);
    await connection?.close();
  }

  /** Kills the running commands of all clients and reports them. Held actions outlast the daemon. */
  async close(): Promise<void> {
    const open = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.allSettled(open.map((connection) => connection.stop()));
  }

  #newSession(client: ClientInfo): string {
    const info = JSON.stringify([client.name.slice(0, 128), client.version.slice(0, 64)]);
    return `${this.#options.id()}.${Buffer.from(info).toString("base64url")}`;
  }

  #connection(session: string, received: McpRequest): Connection {
    const key = keyOf(session, received);
    const known = this.#connections.get(key);
    if (!known && this.#connections.size >= MAX_CONNECTIONS) this.#dropOldest();
    const connection = known ?? this.#open(session, received);
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
      locate: (link) => (argument) => locate(link, now, { argument, fixed: project }),
    });
  }

  #dropOldest(): void {
    for (const [key, connection] of this.#connections) {
      if (connection.isBusy) continue;
      this.#connections.delete(key);
      void connection.close();
      return;
    }
    throw new GateError(
      "rate_limited",
      `Cannot serve more than ${MAX_CONNECTIONS} clients at once; try again later`,
    );
  }
}

// The caller is part of the key, so a copied session id gives no access to another's session.
function keyOf(session: string, { caller, project }: McpRequest): string {
  return [caller.scope, caller.id, project ?? "", session].join("\0");
}

const NOBODY: ClientInfo = { name: "mcp-http", version: "" };

/** Finds the named project, or the only one: over HTTP the client's folders are unknown. */
async function locate(
  link: DaemonLink,
  now: () => number,
  { argument, fixed }: { argument: string | undefined; fixed: string | undefined },
): Promise<Detected | Undetected> {
  const named = argument ?? fixed;
  const { items } = await link.call(
    (client) => client.api.hub.projects.$get(),
    { until: now() + LOOKUP_MS },
  );
  const projects = items.filter(({ id }) => id !== MACHINE_ID);
  const home = homeOf(projects, fixed);
  if (named === MACHINE_ID) {
    return { project_id: MACHINE_ID, root: "/", rule: "argument", home_project: home };
  }
  const found = named === undefined && projects.length === 1
    ? projects[0]
    : projects.find(({ id, roots }) =>
      named !== undefined && (id === named || roots.includes(named))
    );
  if (!found) {
    const reason = named ? `No project is registered as "${named}"` : "No project was named";
    return { reason, projects };
  }
  const root = found.roots.find((root) => root === named) ?? found.roots[0] ?? "";
  const rule = named ? "argument" : "only_project";
  return { project_id: found.id, root, rule, home_project: home };
}

/** The project of the URL, which a person configured, or the only one; else none. */
function homeOf(projects: readonly HubProject[], fixed: string | undefined): string {
  const only = projects.length === 1 ? projects[0] : undefined;
  const named = projects.find(({ id, roots }) => id === fixed || roots.includes(fixed ?? ""));
  return (fixed === undefined ? only : named)?.id ?? MACHINE_ID;
}

/** The client in an `initialize` message; null for any other message. */
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
    const info = JSON.parse(Buffer.from(session.split(".")[1] ?? "", "base64url").toString());
    const [name, version] = info as unknown[];
    if (typeof name === "string" && typeof version === "string") return { name, version };
  } catch {
    // The client sent an id that this server did not create.
  }
  return NOBODY;
}
