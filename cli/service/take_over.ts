import { readToken } from "../../server/auth/tokens.ts";
import { createClient, unwrap } from "../../server/client.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import { giveWay } from "../daemon/start.ts";
import { stopDaemon } from "../daemon/stop.ts";
import { CliError } from "../errors.ts";
import { findDaemon } from "../daemon/find.ts";
import type { Io } from "../io.ts";
import { say } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { isOwnServer } from "../daemon/own_server.ts";

const DEADLINE_MS = 30_000;
const PAUSE_MS = 50;

/** Stops the running daemon after its current work, so that the service can start its own. */
export async function endRunning(io: Io): Promise<void> {
  const place = placeOf(io);
  const running = await askDaemon(io);
  if (running === null) return;
  if (isOwnServer(place.home, running.pid)) return await giveWay(io, place, running.pid);
  say(io, `Stopping the running daemon (pid ${running.pid}): the service replaces it.`);
  await stopDaemon(place, running.pid);
}

/** The status of the daemon, or null when none answers. */
export async function askDaemon(io: Io): Promise<DaemonStatus | null> {
  const place = placeOf(io);
  const reached = await findDaemon(place);
  if (reached === null) return null;
  const client = createClient({ ...reached, token: await readToken(place.home, "viewer") });
  return await unwrap(client.api.daemon.status.$get());
}

/** Waits for the daemon of the service. @throws CliError when none answers in time */
export async function waitForDaemon(io: Io): Promise<DaemonStatus> {
  for (const deadline = Date.now() + DEADLINE_MS; Date.now() < deadline;) {
    const status = await askDaemon(io).catch(() => null);
    if (status !== null) return status;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  throw new CliError("The service was installed, but its daemon does not answer", {
    next: "gate service logs",
  });
}
