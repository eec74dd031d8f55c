import { realpath } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { ProblemError } from "../client.ts";
import { MACHINE_ID } from "../constants.ts";
import { projectDirIn } from "../hosts/project_dir.ts";
import {
  type Detected,
  detectProject,
  type Hints,
  registerOrMachine,
  workspacesIn,
} from "../projects/detect.ts";
import type { RunCommand } from "./command_runs.ts";
import type { Connect, DaemonLink } from "./daemon_link.ts";
import type { ProgressTiming } from "./holding.ts";
import { answerDirectly } from "./direct_calls.ts";
import { LineTransport } from "./line_transport.ts";
import type { SessionsOptions } from "./project_sessions.ts";
import { CALL, callTool, Connection, createMcpServer } from "./server.ts";
import { RootsListChangedNotificationSchema, type Server } from "./sdk.ts";

/** The streams and the environment of `gate mcp`. */
export interface StdioOptions {
  connect: Connect;
  run: RunCommand;
  /** The words that start this program. */
  program: () => readonly string[];
  input: Readable;
  output: Writable;
  env: Record<string, string | undefined>;
  cwd: string;
  /** The user's home folder. */
  user_home: string;
  /** Serves only this project, as entries of an older format require. */
  project?: string;
  /** Ends the server, as the end of the input does. */
  stop: AbortSignal;
  now: () => number;
  id: () => string;
  identity: SessionsOptions["identity"];
  log: (message: string) => void;
  timing?: ProgressTiming;
}

const REGISTRY_MS = 10_000;
const REMEMBER_MS = 5_000;
const ROOTS_MS = 2_000;

/** Serves MCP on the two streams until the host disconnects, then ends its commands and sessions. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const home = await realpath(options.user_home).catch(() => options.user_home);
  const connection = new Connection({
    ...options,
    client: () => server.getClientVersion(),
    locate: (link) =>
      remembering(options.now, async (argument, meta) => ({
        fixed: options.project,
        argument,
        workspaces: workspacesIn(meta),
        roots: await roots.list(),
        claude_project_dir: projectDirIn(options.env),
        cwd: options.cwd,
        home,
      }), bound((hints) => detectProject(hints, registryOf(link, options.now)))),
  });
  const server = createMcpServer(connection);
  const roots = new Roots(server);
  server.onerror = (error) => options.log(error.message);
  const transport = new LineTransport(options);
  const closed = new Promise<void>((resolve) => server.onclose = resolve);
  await server.connect(transport);
  answerDirectly(transport, CALL, (call) => callTool(connection, call));
  options.stop.addEventListener("abort", () => void transport.close(), { once: true });
  if (options.stop.aborted) await transport.close();
  await closed;
  await connection.close();
}

type Locate = SessionsOptions["locate"];

/** Caches the last result for some seconds, so that not every call asks the registry. */
function remembering(
  now: () => number,
  gather: (...call: Parameters<Locate>) => Promise<Hints>,
  detect: (hints: Hints) => ReturnType<Locate>,
): Locate {
  let known: { key: string; found: Detected; until: number } | null = null;
  return async (...call) => {
    const hints = await gather(...call);
    const key = JSON.stringify(hints);
    if (known?.key === key && now() < known.until) return known.found;
    const found = await detect(hints);
    known = "reason" in found ? null : { key, found, until: now() + REMEMBER_MS };
    return found;
  };
}

/**
 * Binds the connection to the first project that the host opens. A host that opens another one later
 * works there as in a project that the agent names.
 */
function bound(
  detect: (hints: Hints) => ReturnType<Locate>,
): (hints: Hints) => ReturnType<Locate> {
  let home: string | null = null;
  return async (hints) => {
    const found = await detect(hints);
    if ("reason" in found || hints.fixed !== undefined) return found;
    const opened = found.home_project ?? found.project_id;
    // A folder of no project binds nothing: the host may open its project later.
    if (home === null && opened !== MACHINE_ID) home = opened;
    const home_project = home ?? opened;
    const { home_project: _, ...place } = found;
    return home_project === place.project_id ? place : { ...place, home_project };
  };
}

function registryOf(link: DaemonLink, now: () => number) {
  return {
    list: async () => {
      const until = now() + REGISTRY_MS;
      return (await link.call((client) => client.api.hub.projects.$get(), { until })).items;
    },
    register: (root: string) =>
      registerOrMachine(root, {
        register: (at) =>
          link.call((client) => client.api.hub.projects.$post({ json: { root: at } }), {
            until: now() + REGISTRY_MS,
          }),
        codeOf: (error) => error instanceof ProblemError ? error.problem.code : undefined,
      }),
  };
}

/** The client's roots, requested once and again after the client reports a change. */
class Roots {
  readonly #server: Server;
  #known: Promise<string[]> | null = null;

  constructor(server: Server) {
    this.#server = server;
    server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
      this.#known = null;
    });
  }

  list(): Promise<string[]> {
    if (!this.#server.getClientCapabilities()?.roots) return Promise.resolve([]);
    this.#known ??= this.#ask();
    return this.#known;
  }

  /** A client that does not answer has no roots. */
  async #ask(): Promise<string[]> {
    try {
      const { roots } = await this.#server.listRoots(undefined, { timeout: ROOTS_MS });
      return roots.slice(0, 100).map(({ uri }) => uri);
    } catch {
      return [];
    }
  }
}
