import type { Scope } from "../../server/auth/schema.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { type Client, createClient, type Prove } from "../../server/client.ts";
import { launchDaemon } from "./launch.ts";

import { CliError } from "../errors.ts";
import { findDaemon, findOlder, type Reached } from "./find.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";

/** The parts of `Io` that a client needs to find its daemon. */
export type Surroundings = Pick<Io, "env" | "cwd" | "pid">;

/** An authorized connection to the daemon: the typed client, and what a raw request needs. */
export interface Connection extends Reached {
  client: Client;
  token: string;
  /** Proves a person's presence for requests that decide; clients of this connection use it. */
  prove?: Prove;
}

export interface ConnectOptions {
  scope: Scope;
  /** Whether to start a daemon if none runs (the default); false throws instead. */
  start?: boolean;
  /** Proves a person's presence when the daemon requires it. */
  prove?: Prove;
  /** The member who decides at this terminal; by default the person of the reviewer's token. */
  member?: string;
}

/** The typed client of this machine's daemon. @throws CliError if the daemon cannot be reached */
export async function connect(around: Surroundings, options: ConnectOptions): Promise<Client> {
  return (await openConnection(around, options)).client;
}

/** As `connect`, with what a raw or streamed request needs. @throws CliError */
export async function openConnection(
  around: Surroundings,
  { scope, start = true, prove, member }: ConnectOptions,
): Promise<Connection> {
  const found = start ? await ensureDaemon(around) : await requireDaemon(around);
  const reached = member === undefined ? found : { ...found, fetch: naming(member, found.fetch) };
  const token = await readToken(placeOf(around).home, scope);
  const options = { ...reached, token, ...prove && { prove } };
  return { ...options, client: createClient(options) };
}

/**
 * Returns the running daemon; starts one in the background if none runs, and replaces one of an
 * older release. @throws CliError if the daemon does not start
 */
export async function ensureDaemon(around: Surroundings, args: string[] = []): Promise<Reached> {
  const place = placeOf(around);
  const find = async () => {
    const found = await findDaemon(place);
    return found && !findOlder(place) ? found : null;
  };
  const clear = async () => {
    const older = findOlder(place);
    if (older) await (await import("./stop.ts")).stopDaemon(place, older.pid);
  };
  return await find() ?? await launchDaemon({ place, around, find, clear, args });
}

/** A client whose requests are about one project. */
export function scopedClient(connection: Connection, project: string): Client {
  const { url, fetch, token, prove } = connection;
  return createClient({ url, fetch, token, project, ...prove && { prove } });
}

/** A `fetch` that names the member in the requests that they sign. */
function naming(member: string, send: Reached["fetch"]): Reached["fetch"] {
  return async (input, init) => {
    const { isSignedDeed } = await import("../../server/proof/check_challenge.ts");
    if (!isSignedDeed(init?.method ?? "GET", new URL(String(input)).pathname)) {
      return await send(input, init);
    }
    const headers = new Headers(init?.headers);
    headers.set("X-Gate-Member", member);
    return await send(input, { ...init, headers });
  };
}

async function requireDaemon(around: Surroundings): Promise<Reached> {
  const found = await findDaemon(placeOf(around));
  if (found) return found;
  throw new CliError("Cannot reach the daemon: it is not running", { next: "gate daemon start" });
}
