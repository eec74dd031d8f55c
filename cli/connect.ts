import type { Scope } from "../server/auth/schema.ts";
import { readToken } from "../server/auth/tokens.ts";
import { type Client, createClient } from "../server/client.ts";
import { isSameProcess } from "../server/runtime/processes.ts";
import { createSocketFetch, type Fetch } from "../server/runtime/socket_fetch.ts";
import { launchDaemon } from "./daemon/launch.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";
import { type Place, placeOf, readDaemonFile, socketPath } from "./place.ts";

/** What a client needs of the outside to find its daemon. */
export type Surroundings = Pick<Io, "env" | "cwd" | "pid">;

/** A daemon that answers, and how to speak with it. */
export interface Reached {
  url: string;
  fetch: Fetch;
}

/** A credentialed way to the daemon: the typed client, and the parts for a raw request. */
export interface Connection extends Reached {
  client: Client;
  token: string;
}

export interface ConnectOptions {
  scope: Scope;
  /** Start a daemon when none runs; otherwise that is an error. */
  start?: boolean;
}

/** The typed client of this machine's daemon. @throws CliError when it cannot be reached */
export async function connect(around: Surroundings, options: ConnectOptions): Promise<Client> {
  return (await openConnection(around, options)).client;
}

/** As `connect`, with what a raw or streamed request needs. */
export async function openConnection(
  around: Surroundings,
  { scope, start = true }: ConnectOptions,
): Promise<Connection> {
  const reached = start ? await ensureDaemon(around) : await requireDaemon(around);
  const token = await readToken(placeOf(around).home, scope);
  return { ...reached, token, client: createClient({ ...reached, token }) };
}

/** The running daemon, started detached if none runs. @throws CliError: the gate fails closed */
export async function ensureDaemon(around: Surroundings, args: string[] = []): Promise<Reached> {
  const place = placeOf(around);
  const find = () => findDaemon(place);
  return await find() ?? await launchDaemon({ place, around, find, args });
}

/** The daemon that answers now, or null; never starts one. */
export async function findDaemon(place: Place): Promise<Reached | null> {
  const path = socketPath(place.home);
  const url = `http://127.0.0.1:${place.port}`;
  if (path) {
    const overSocket = { url, fetch: createSocketFetch(path) };
    if (await isHealthy(overSocket)) return overSocket;
  }
  const said = readDaemonFile(place.home);
  // A port proves nothing: it is only trusted while the process that wrote the file lives.
  if (!said || said.port !== place.port || !isSameProcess(said)) return null;
  const overPort = { url, fetch: createSocketFetch(null) };
  return await isHealthy(overPort) ? overPort : null;
}

/** The same connection for the calls that mean one project. */
export function scopedClient({ url, fetch, token }: Connection, project: string): Client {
  return createClient({ url, fetch, token, project });
}

async function requireDaemon(around: Surroundings): Promise<Reached> {
  const found = await findDaemon(placeOf(around));
  if (found) return found;
  throw new CliError("The daemon is not running", { next: "gate daemon start" });
}

const HEALTH_DEADLINE_MS = 2_000;

async function isHealthy({ url, fetch }: Reached): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, {
      signal: AbortSignal.timeout(HEALTH_DEADLINE_MS),
    });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
