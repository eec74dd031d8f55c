import { readToken } from "../server/auth/tokens.ts";
import { createSocketFetch } from "../server/runtime/socket_fetch.ts";
import type { Io } from "./io.ts";
import { placeOf, socketPath } from "./place.ts";

const DEADLINE_MS = 1_000;

/** What a shell prompt shows of the actions that wait; empty when none do. */
export async function promptText(io: Io): Promise<string> {
  const count = await countPending(io);
  return count ? `gate:${count}\n` : "";
}

/** The number of held actions, or null when no daemon runs; never starts one, never fails. */
export async function countPending(io: Io): Promise<number | null> {
  try {
    const place = placeOf(io);
    const token = await readToken(place.home, "viewer");
    const path = socketPath(place.home);
    const url = `http://127.0.0.1:${place.port}`;
    // Over the socket one question is enough: nobody but our daemon can answer there.
    const reached = path
      ? { url, fetch: createSocketFetch(path) }
      : await (await import("./connect.ts")).findDaemon(place);
    const answer = await reached?.fetch(`${reached.url}/api/daemon/status`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    if (!answer?.ok) return null;
    const { projects } = await answer.json() as { projects: { pending_count: number }[] };
    return projects.reduce((sum, project) => sum + project.pending_count, 0);
  } catch {
    return null;
  }
}
