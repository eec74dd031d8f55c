import { setTimeout as sleep } from "node:timers/promises";
import { readToken } from "../../server/auth/tokens.ts";
import { createClient, unwrap } from "../../server/client.ts";
import {
  findListener,
  identify,
  isSameProcess,
  type ProcessIdentity,
  signalProcess,
} from "../../server/runtime/processes.ts";
import { findDaemon } from "./find.ts";
import { CliError } from "../errors.ts";
import { type Place, readDaemonFile } from "../place.ts";

const DRAIN_MS = 15_000;
const POLL_MS = 25;

/**
 * Stops the daemon of a home and waits until its process ends; false if none runs. It signals only
 * a process that is proved to be that daemon, because a pid in a file may be reused.
 * @param only stops the daemon only if it has this pid
 * @throws CliError if the daemon does not end in time
 */
export async function stopDaemon(place: Place, only?: number): Promise<boolean> {
  const daemon = await answeringDaemon(place) ?? hangingDaemon(place);
  if (!daemon || (only !== undefined && daemon.pid !== only)) return false;
  if (!signalProcess(daemon, "SIGTERM")) return false;
  const deadline = Date.now() + DRAIN_MS;
  while (Date.now() < deadline) {
    if (!isSameProcess(daemon)) return true;
    await sleep(POLL_MS);
  }
  throw new CliError(
    `Cannot stop the daemon (pid ${daemon.pid}): it did not end within ${DRAIN_MS / 1000} s`,
    { next: `kill -9 ${daemon.pid}, which interrupts the work in progress` },
  );
}

/** The process of a daemon that answers over its socket or its verified port. */
async function answeringDaemon(place: Place): Promise<ProcessIdentity | null> {
  const reached = await findDaemon(place);
  // Without a usable token file the daemon must be stopped, because its start writes a new one.
  const token = await readToken(place.home, "reviewer").catch(() => null);
  if (!reached || token === null) return null;
  const client = createClient({ ...reached, token });
  try {
    return identify((await unwrap(client.api.daemon.status.$get())).pid);
  } catch (error) {
    // A daemon of an older release cannot prove itself over its port.
    if (error instanceof CliError) return null;
    throw error;
  }
}

/** The process of a daemon that hangs: the process in `daemon.json`, if it listens on the port. */
function hangingDaemon(place: Place): ProcessIdentity | null {
  const noted = readDaemonFile(place.home);
  if (!noted || !isSameProcess(noted)) return null;
  return findListener(noted.port)?.pid === noted.pid ? noted : null;
}
