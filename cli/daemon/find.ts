import { isSameProcess } from "../../server/runtime/processes.ts";
import { createSocketFetch, type Fetch } from "../../server/runtime/socket_fetch.ts";
import { socketPath } from "../home.ts";
import { type Place, readDaemonFile } from "../place.ts";

/** A daemon that answers, and how to speak with it. */
export interface Reached {
  url: string;
  fetch: Fetch;
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
