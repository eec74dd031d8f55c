import { VERSION } from "../../server/constants.ts";
import { isSameProcess } from "../../server/runtime/processes.ts";
import { createSocketFetch, type Fetch } from "../../server/runtime/socket_fetch.ts";
import { socketPath } from "../home.ts";
import { type Place, readDaemonFile } from "../place.ts";
import { createProvenFetch } from "./proven_fetch.ts";

/** A daemon that answers: its address, and a `fetch` that reaches it. */
export interface Reached {
  url: string;
  fetch: Fetch;
}

/** The running daemon, or null; never starts one. */
export async function findDaemon(place: Place): Promise<Reached | null> {
  const path = socketPath(place.home);
  const url = `http://127.0.0.1:${place.port}`;
  if (path) {
    const overSocket = { url, fetch: createSocketFetch(path) };
    if (await isHealthy(overSocket)) return overSocket;
  }
  const noted = readDaemonFile(place.home);
  // Any program can listen on a port. Trust it only while the process in daemon.json is alive.
  if (!noted || noted.port !== place.port || !isSameProcess(noted)) return null;
  const overPort = { url, fetch: createProvenFetch(createSocketFetch(null)) };
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

/** The running daemon if its release is older than this program; otherwise null. */
export function findOlder(place: Place): { pid: number; version: string } | null {
  const noted = readDaemonFile(place.home);
  return noted && isOlder(noted.version, VERSION) && isSameProcess(noted) ? noted : null;
}

/** Compares two releases by their three numbers; ignores pre-release and build parts. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/, 3).map((part) => Number(part) || 0);
  const [first, second] = [numbers(version), numbers(than)];
  const differs = [0, 1, 2].find((at) => (first[at] ?? 0) !== (second[at] ?? 0));
  return differs !== undefined && (first[differs] ?? 0) < (second[differs] ?? 0);
}
