import { Command } from "@commander-js/extra-typings";
import { setTimeout as sleep } from "node:timers/promises";
import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { actionTable } from "../actions/table.ts";
import type { Connection } from "../daemon/connect.ts";
import { listenToEvents } from "../daemon/events.ts";
import { sayUnread } from "../daemon/unread.ts";
import { CliError } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { examples } from "../options.ts";
import { AS } from "../proof/passphrases.ts";
import { openReview, Prover } from "../proof/prover.ts";
import { print } from "../terminal/output.ts";
import { visibleJson } from "../terminal/visible.ts";
import { type Held, reviewHeld } from "../watch/desk.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";

/** `gate watch`: the held actions, as they come. */
export function createCommand(shell: Io) {
  return new Command("watch")
    .description(
      "Show the held actions on the whole terminal; letter keys approve, reject or edit them. " +
        "Without a terminal, only print them.",
    )
    .option("--project <id>", "watch only this project")
    .option(...AS)
    .option("--json", "print one JSON object a line and ask nothing")
    .addHelpText(
      "after",
      examples("gate watch", "gate watch --as ann", "gate watch --json | while read -r action; …"),
    )
    .action(async ({ project, json, as }) => {
      // A full screen takes what the parts of this command print, and nothing else.
      const io = { ...shell };
      const stop = new AbortController();
      const forget = io.onSignal(() => stop.abort());
      const prover = new Prover(io);
      const { signal } = stop;
      const queue = watchHeld(io, { project: project ?? null, signal, prover, as });
      if (json || !isInteractive(io)) await printEach(io, queue, json ?? false);
      else await reviewHeld(io, queue, signal);
      stop.abort();
      forget();
    });
}

type Queue = AsyncGenerator<Held>;

const PRINTED = { described: new Map<string, string>(), held: true };

/** Prints each action once, when it is held. */
async function printEach(io: Io, queue: Queue, json: boolean): Promise<void> {
  let known = new Set<string>();
  for await (const { held } of queue) {
    for (const action of held.filter(({ id }) => !known.has(id))) {
      if (json) print(io, visibleJson(action, 0));
      else print(io, actionTable(io, [action], { ...PRINTED, now: Date.now() }));
    }
    known = new Set(held.map(({ id }) => id));
  }
}

const RECONNECT_PAUSE_MS = 1_000;

/**
 * Yields the held actions at first and after each change. It waits for a daemon that ends, and does
 * not start another one, because a person may have stopped it on purpose.
 */
async function* watchHeld(
  io: Io,
  { project, signal, prover, as }: {
    project: string | null;
    signal: AbortSignal;
    prover: Prover;
    as: string | undefined;
  },
): Queue {
  let isTold = false;
  let isUnreadTold = false;
  for (let start = true; !signal.aborted; start = false) {
    const listening = new AbortController();
    try {
      const connection = await openReview(io, { start, prover, as });
      const look = async () => {
        const held = await listHeld(connection, project);
        const about = [...project ? [project] : [], ...held.map(({ project_id }) => project_id)];
        const found = await witness(io, connection, about);
        if (!isTold) sayStepBacks(io, found);
        isTold ||= found.length > 0;
        isUnreadTold ||= await sayUnread(io, connection, project ?? undefined) !== "";
        return { held, voted: await listVoted(connection, as), connection };
      };
      const either = AbortSignal.any([signal, listening.signal]);
      const events = listenToEvents(connection, ["approvals"], either)[Symbol.asyncIterator]();
      // Listen before the first request, so that no change is missed between the two.
      let next = nextOf(events);
      yield await look();
      while (!(await next).done) {
        next = nextOf(events);
        yield await look();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isLost(error) || (start && error instanceof CliError)) throw error;
    } finally {
      listening.abort();
    }
    await sleep(RECONNECT_PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}

/** The next event. Its failure is not an unhandled rejection if the caller stops listening. */
function nextOf<T>(events: AsyncIterator<T>): Promise<IteratorResult<T>> {
  const next = events.next();
  next.catch(() => {});
  return next;
}

async function listHeld({ client }: Connection, project: string | null): Promise<Action[]> {
  const { items } = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
  const wanted = items.filter((action) => !project || action.project_id === project);
  // Ids begin with their time, so this puts the oldest action first.
  return wanted.sort((a, b) => a.id < b.id ? -1 : 1);
}

/** The held actions for which this person has voted and is not asked again. */
async function listVoted({ client }: Connection, as: string | undefined): Promise<Set<string>> {
  const { items } = await unwrap(client.api.approvals.pending.$get({ query: {} }));
  if (items.length === 0) return new Set();
  const own = as ?? (await unwrap(client.api.team.whoami.$get())).id;
  const voted = items.filter(({ asked, answered }) =>
    !asked.includes(own) && answered.some(({ member_id }) => member_id === own)
  );
  return new Set(voted.map(({ action }) => action.id));
}

/** Whether the connection broke; false for a request that the daemon refused. */
function isLost(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof TypeError || error instanceof CliError || typeof code === "string";
}
