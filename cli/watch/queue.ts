import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { type Connection, openConnection } from "../connect.ts";
import { listenToEvents } from "../event_stream.ts";
import type { Io } from "../io.ts";

export interface QueueOptions {
  project: string | null;
  signal: AbortSignal;
}

const PAUSE_MS = 1_000;

/** What is held, now and again after each change; survives restarts of the daemon. */
export async function* watchHeld(
  io: Io,
  { project, signal }: QueueOptions,
): AsyncGenerator<{ held: Action[]; connection: Connection }> {
  while (!signal.aborted) {
    const listening = new AbortController();
    try {
      const connection = await openConnection(io, { scope: "reviewer" });
      const look = async () => ({ held: await listHeld(connection, project), connection });
      const either = AbortSignal.any([signal, listening.signal]);
      const events = listenToEvents(connection, ["approvals"], either)[Symbol.asyncIterator]();
      // Asked for before the first look: nothing can fall between the two.
      let next = hear(events);
      yield await look();
      while (!(await next).done) {
        next = hear(events);
        yield await look();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isLost(error)) throw error;
    } finally {
      listening.abort();
    }
    await pause(signal);
  }
}

/** The next event. Whoever stops to listen may leave it to fail unheard. */
function hear<T>(events: AsyncIterator<T>): Promise<IteratorResult<T>> {
  const next = events.next();
  next.catch(() => {});
  return next;
}

async function listHeld({ client }: Connection, project: string | null): Promise<Action[]> {
  const { items } = await unwrap(client.api.global.approvals.pending.$get());
  const wanted = items.filter((action) => !project || action.project_id === project);
  return wanted.sort((a, b) => a.created_at < b.created_at ? -1 : 1);
}

/** Whether the connection broke, rather than that the daemon refused something. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || typeof (error as NodeJS.ErrnoException).code === "string";
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, PAUSE_MS);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
