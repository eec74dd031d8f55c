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
 * Stops the daemon of a home and waits until it has gone; false when none ran. Only a process that
 * proved to be that daemon is signalled: a pid in a file proves nothing. @throws CliError
 * @param only leaves every daemon but this one alone
 */
export async function stopDaemon(place: Place, only?: number): Promise<boolean> {
  const daemon = await whoAnswers(place) ?? whoHangs(place);
  if (!daemon || (only !== undefined && daemon.pid !== only)) return false;
  if (!signalProcess(daemon, "SIGTERM")) return false;
  const deadline = Date.now() + DRAIN_MS;
  while (Date.now() < deadline) {
    if (!isSameProcess(daemon)) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new CliError(
    `The daemon (pid ${daemon.pid}) has not ended within ${DRAIN_MS / 1000} s`,
    { next: `kill -9 ${daemon.pid}, if it is to lose what it is doing` },
  );
}

/** The process that answers as the daemon of this home, by its own word over the trusted way. */
async function whoAnswers(place: Place): Promise<ProcessIdentity | null> {
  const reached = await findDaemon(place);
  if (!reached) return null;
  const client = createClient({ ...reached, token: await readToken(place.home, "reviewer") });
  return identify((await unwrap(client.api.daemon.status.$get())).pid);
}

/** A daemon that does not answer: it must be the process of the file and hold the port. */
function whoHangs(place: Place): ProcessIdentity | null {
  const said = readDaemonFile(place.home);
  if (!said || !isSameProcess(said)) return null;
  return findListener(said.port)?.pid === said.pid ? said : null;
}
