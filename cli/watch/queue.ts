import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { type Connection, openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import { listenToEvents } from "../daemon/events.ts";
import type { Io } from "../io.ts";

export interface QueueOptions {
  project: string | null;
  signal: AbortSignal;
}

const PAUSE_MS = 1_000;

/**
 * What is held, now and again after each change. A daemon that goes away is waited for, not started
 * again: whoever stopped it meant it.
 */
export async function* watchHeld(
  io: Io,
  { project, signal }: QueueOptions,
): AsyncGenerator<{ held: Action[]; connection: Connection }> {
  for (let start = true; !signal.aborted; start = false) {
    const listening = new AbortController();
    try {
      const connection = await openConnection(io, { scope: "reviewer", start });
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
      if (!isLost(error) || (start && error instanceof CliError)) throw error;
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
  const { items } = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
  const wanted = items.filter((action) => !project || action.project_id === project);
  // Ids begin with their time: the oldest comes first.
  return wanted.sort((a, b) => a.id < b.id ? -1 : 1);
}

/** Whether the connection broke, rather than that the daemon refused something. */
function isLost(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof TypeError || error instanceof CliError || typeof code === "string";
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, PAUSE_MS);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
