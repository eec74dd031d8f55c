import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Client, unwrap } from "../../server/client.ts";
import type { Connection } from "../daemon/connect.ts";
import { stopDaemon } from "../daemon/stop.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { forgetHome } from "../witness/memory.ts";

const CONFIG = "config.json";

/**
 * Moves the data folder aside and begins an empty one with the same global config and projects, which
 * can take over the keys of other machines. Returns a connection to its daemon.
 * @throws CliError while a project holds actions
 */
export async function beginFreshHome(
  io: Io,
  client: Client,
  reconnect: () => Promise<Connection>,
): Promise<Connection> {
  const { items } = await unwrap(client.api.hub.projects.$get());
  const held = items.filter(({ pending_count }) => pending_count > 0).map(({ id }) => id);
  if (held.length > 0) {
    const names = held.map(visibleLine).join(", ");
    throw new CliError(`Cannot put this home aside: it holds actions of ${names}`, {
      next: "gate pending",
    });
  }
  const aside = await putAside(io);
  forgetHome(io, placeOf(io).home);
  say(io, `This home is at ${visibleLine(aside)} now, with its keys, ledgers and team.`);
  say(io, "To go back: gate daemon stop, then move it to its old place.");
  const connection = await reconnect();
  for (const root of items.flatMap(({ roots }) => roots).filter((root) => existsSync(root))) {
    await register(io, connection.client, root);
  }
  return connection;
}

async function putAside(io: Io): Promise<string> {
  const place = placeOf(io);
  await stopDaemon(place);
  const aside = freeName(place.home);
  renameSync(place.home, aside);
  mkdirSync(place.home, { mode: 0o700 });
  const config = join(aside, CONFIG);
  if (existsSync(config)) copyFileSync(config, join(place.home, CONFIG));
  return aside;
}

function freeName(home: string): string {
  const day = new Date().toISOString().slice(0, 10);
  for (let n = 1;; n++) {
    const name = `${home}.before-${day}${n === 1 ? "" : `-${n}`}`;
    if (!existsSync(name)) return name;
  }
}

/** Registers a project. A person can register one that fails with gate init later. */
async function register(io: Io, client: Client, root: string): Promise<void> {
  try {
    await unwrap(client.api.hub.projects.$post({ json: { root } }));
  } catch (error) {
    say(io, visibleLine((error as Error).message));
  }
}
