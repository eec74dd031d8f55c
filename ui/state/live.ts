import { batch, computed, type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import type { StreamEvent } from "../../server/events/schema.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import type { Workspace } from "../../server/workspaces/schema.ts";
import { api, explain, unwrap } from "./client.ts";
import { openEvents } from "./events.ts";
import { Pace } from "./pace.ts";
import { loadProof } from "./proof.ts";

/** The daemon's status: version, port, projects. */
export const daemon = signal<DaemonStatus | null>(null);

/** The workspaces: named sets of projects. */
export const workspaces = signal<Workspace[] | null>(null);

/** The held actions of all projects, oldest first; at first only the oldest ones of a long queue. */
export const pending = signal<Action[] | null>(null);

/** The number of held actions that `pending` lacks, while only the oldest ones are read. */
export const unread = signal(0);

/** Why the last load of the queue failed; null after a successful load. */
export const loadProblem = signal<string | null>(null);

/** Why the last load of the daemon's status failed; null after a successful load. */
export const machineProblem = signal<string | null>(null);

/** Milliseconds since 1970, updated every second for relative times. */
export const now = signal(Date.now());

/** The record of an action and when this version was first read, or why it cannot be shown. */
export type Loaded = { detail: ActionDetail; read_at: number } | { problem: string } | null;

/** The number of held actions in each project. */
export const pendingByProject = computed(() => {
  const counts = new Map<string, number>();
  for (const action of pending.value ?? []) {
    counts.set(action.project_id, (counts.get(action.project_id) ?? 0) + 1);
  }
  return counts;
});

const details = new Map<string, Signal<Loaded>>();
/** The details on the page, each with the pace of its reads. */
const watched = new Map<string, Pace>();
const listeners = new Set<(event: StreamEvent | null) => void>();
const KEPT_DETAILS = 40;

/** Loads the data that every page needs and keeps it up to date; returns how to stop. */
export function openState(): () => void {
  const timer = setInterval(() => now.value = Date.now(), 1000);
  const proofs = setInterval(() => {
    void lookAtProof();
    if (document.visibilityState === "visible") machine.ask();
  }, PROOF_MS);
  const close = openEvents({
    event: (event) => {
      if (event.topic === "approvals") queue.ask();
      if (changesMachine(event)) machine.ask();
      if (event.type === "proof.changed") void lookAtProof();
      if (event.id) noteChange(event.id);
      for (const listener of listeners) listener(event);
    },
    resync: () => {
      queue.ask();
      machine.ask();
      void lookAtProof();
      for (const id of details.keys()) noteChange(id);
      for (const listener of listeners) listener(null);
    },
  });
  queue.ask();
  machine.ask();
  return () => {
    clearInterval(timer);
    clearInterval(proofs);
    close();
  };
}

/** Not every way to change the proof sends an event to this page. */
const PROOF_MS = 15_000;

// A state that cannot be read stays as it was; the footer reports a lost connection.
async function lookAtProof(): Promise<void> {
  if (document.visibilityState === "visible") await loadProof(api()).catch(() => {});
}

/** Calls `listener` for each event; with null when events may be missing. Returns how to stop. */
function onEvent(listener: (event: StreamEvent | null) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The record of an action. The first call loads it; each change reloads it. */
export function detailOf(id: string, project?: string): Signal<Loaded> {
  const known = details.get(id);
  if (known) {
    details.delete(id);
    details.set(id, known);
    return known;
  }
  const made = signal<Loaded>(null, {
    watched: () => watched.set(id, new Pace(() => refresh(id))),
    unwatched: () => {
      watched.get(id)?.stop();
      watched.delete(id);
    },
  });
  details.set(id, made);
  for (const old of details.keys()) {
    if (details.size > KEPT_DETAILS && old !== id) details.delete(old);
  }
  void refresh(id, project);
  return made;
}

/** Reads the record of an action again. */
export async function refresh(id: string, project?: string): Promise<void> {
  const target = details.get(id);
  if (!target) return;
  try {
    const detail = await unwrap(
      api(project ?? projectOf(id)).api.actions[":id"].$get({ param: { id } }),
    );
    const before = target.peek();
    const same = before && "detail" in before && before.detail.digest === detail.digest &&
      before.detail.status === detail.status;
    target.value = { detail, read_at: same ? before.read_at : performance.now() };
  } catch (error) {
    const before = target.peek();
    if (!before || !("detail" in before)) target.value = { problem: explain(error) };
  }
}

/** Reads the daemon's projects and workspaces again, after this page has changed them. */
export function refreshMachine(): void {
  machine.ask();
}

/** The ids of actions that were decided on this page. */
export const decidedHere = new Set<string>();

/** Removes a decided action from the queue without waiting for the daemon's event. */
export function removeDecided(action: Action): void {
  decidedHere.add(action.id);
  pending.value = pending.peek()?.filter((item) => item.id !== action.id) ?? null;
  void refresh(action.id, action.project_id);
}

// A record on the page is read again; another one is read when it is needed next.
function noteChange(id: string): void {
  const pace = watched.get(id);
  if (pace) pace.ask();
  else details.delete(id);
}

/** Whether the event may change the status of the daemon or the list of projects. */
function changesMachine({ topic, type, project_id }: StreamEvent): boolean {
  if (!daemon.peek()?.projects.some(({ id }) => id === project_id)) return true;
  return topic === "approvals" && !/^(?:action|vote|grant|reminder|escalation)\./.test(type);
}

/** Reads the daemon's status and the workspaces again. */
export const rereadMachine = (): void => machine.ask();

const queue = new Pace(loadQueue);
const machine = new Pace(loadMachine);

async function loadQueue(): Promise<void> {
  try {
    const { items, more } = await readHeld();
    batch(() => {
      pending.value = items;
      unread.value = more;
      loadProblem.value = null;
    });
    if (more > 0) queue.ask();
  } catch (error) {
    loadProblem.value = explain(error);
  }
}

// The first card needs the oldest actions only, unless the address narrows or sorts the queue.
async function readHeld(): Promise<{ items: Action[]; more: number }> {
  const { global } = api().api;
  if (pending.peek() === null && location.search === "") {
    const query = { status: "pending", order: "oldest", limit: String(FIRST_READ) } as const;
    const [{ items, next_cursor }, { count }] = await Promise.all([
      unwrap(global.actions.$get({ query })),
      unwrap(global.approvals.count.$get({ query: {} })),
    ]);
    if (next_cursor === null) return { items: items.toSorted(byAge), more: 0 };
    return { items: items.toSorted(byAge), more: Math.max(1, count - items.length) };
  }
  const { items } = await unwrap(global.approvals.pending.$get({ query: {} }));
  return { items: items.toSorted(byAge), more: 0 };
}

const FIRST_READ = 40;

async function loadMachine(): Promise<void> {
  try {
    const [status, sets] = await Promise.all([
      unwrap(api().api.daemon.status.$get()),
      unwrap(api().api.workspaces.$get()),
    ]);
    daemon.value = status;
    workspaces.value = sets.items;
    machineProblem.value = null;
  } catch (error) {
    machineProblem.value = explain(error);
  }
}

function byAge(a: Action, b: Action): number {
  return a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id);
}

function projectOf(id: string): string | undefined {
  const shown = details.get(id)?.peek();
  if (shown && "detail" in shown) return shown.detail.project_id;
  return pending.peek()?.find((action) => action.id === id)?.project_id;
}

const REFRESH_MS = 250;

/**
 * Calls `read` now, when `key` changes, and after each event that `wants` accepts. The signal
 * aborts when a newer key makes the read outdated; `changed` has the projects of the events since
 * the read before, or is null if anything may have changed.
 */
export function useLive(
  key: string,
  read: (late: AbortSignal, changed: ReadonlySet<string> | null) => Promise<void>,
  wants: (event: StreamEvent) => boolean,
): void {
  useEffect(() => {
    const ended = new AbortController();
    let changed: Set<string> | null = null;
    const readChanged = () => {
      const since = changed;
      changed = new Set();
      return read(ended.signal, since);
    };
    const pace = new Pace(readChanged, REFRESH_MS);
    void readChanged();
    const stop = onEvent((event) => {
      if (!event) changed = null;
      else if (!wants(event)) return;
      else changed?.add(event.project_id);
      pace.ask();
    });
    return () => {
      ended.abort();
      pace.stop();
      stop();
    };
  }, [key]);
}
