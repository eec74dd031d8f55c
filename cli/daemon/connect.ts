import type { Scope } from "../../server/auth/schema.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { type Client, createClient } from "../../server/client.ts";
import { launchDaemon } from "./launch.ts";
import { findOlder } from "./older.ts";
import { CliError } from "../errors.ts";
import { findDaemon, type Reached } from "./find.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";

/** What a client needs of the outside to find its daemon. */
export type Surroundings = Pick<Io, "env" | "cwd" | "pid">;

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

/**
 * The running daemon, started detached if none runs; one of an older release is replaced.
 * @throws CliError: the gate fails closed
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

/** The same connection for the calls that mean one project. */
export function scopedClient({ url, fetch, token }: Connection, project: string): Client {
  return createClient({ url, fetch, token, project });
}

async function requireDaemon(around: Surroundings): Promise<Reached> {
  const found = await findDaemon(placeOf(around));
  if (found) return found;
  throw new CliError("The daemon is not running", { next: "gate daemon start" });
}
