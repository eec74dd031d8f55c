import { computed, type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import type { StreamEvent } from "../../server/events/schema.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import type { Workspace } from "../../server/workspaces/schema.ts";
import { api, explain, unwrap } from "./client.ts";
import { openEvents } from "./events.ts";
import { loadProof } from "./proof.ts";

/** The daemon's status: version, port, projects. */
export const daemon = signal<DaemonStatus | null>(null);

/** The workspaces: named sets of projects. */
export const workspaces = signal<Workspace[] | null>(null);

/** The held actions of all projects, oldest first. */
export const pending = signal<Action[] | null>(null);

/** Why the last load failed; null after a successful load. */
export const loadProblem = signal<string | null>(null);

/** Milliseconds since 1970, updated every second for relative times. */
export const now = signal(Date.now());

/** The record of an action, or why it cannot be shown. */
export type Loaded = { detail: ActionDetail; shown_at: number } | { problem: string } | null;

/** The number of held actions in each project. */
export const pendingByProject = computed(() => {
  const counts = new Map<string, number>();
  for (const action of pending.value ?? []) {
    counts.set(action.project_id, (counts.get(action.project_id) ?? 0) + 1);
  }
  return counts;
});

const details = new Map<string, Signal<Loaded>>();
const listeners = new Set<(event: StreamEvent | null) => void>();
const KEPT_DETAILS = 40;

/** Loads the data that every page needs and keeps it up to date; returns how to stop. */
export function openState(): () => void {
  const timer = setInterval(() => now.value = Date.now(), 1000);
  const proofs = setInterval(() => void lookAtProof(), PROOF_MS);
  const close = openEvents({
    event: (event) => {
      if (event.topic === "approvals") schedule();
      if (event.type === "proof.changed") void lookAtProof();
      if (event.id && details.has(event.id)) void refresh(event.id, event.project_id);
      for (const listener of listeners) listener(event);
    },
    resync: () => {
      schedule();
      void lookAtProof();
      for (const id of details.keys()) void refresh(id);
      for (const listener of listeners) listener(null);
    },
  });
  schedule();
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
  const made = signal<Loaded>(null);
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
    target.value = { detail, shown_at: same ? before.shown_at : performance.now() };
  } catch (error) {
    const before = target.peek();
    if (!before || !("detail" in before)) target.value = { problem: explain(error) };
  }
}

/** The ids of actions that were decided on this page. */
export const decidedHere = new Set<string>();

/** Removes a decided action from the queue without waiting for the daemon's event. */
export function removeDecided(action: Action): void {
  decidedHere.add(action.id);
  pending.value = pending.peek()?.filter((item) => item.id !== action.id) ?? null;
  void refresh(action.id, action.project_id);
}

// A busy agent changes the queue many times a second; a few updates are enough for a person.
const PAUSE_MS = 100;
let loading = false;
let again = false;

// Events that arrive during a load cause one more load in all.
function schedule(): void {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  void load().finally(() => {
    loading = false;
    if (again) setTimeout(schedule, PAUSE_MS);
    again = false;
  });
}

async function load(): Promise<void> {
  try {
    const [status, sets, held] = await Promise.all([
      unwrap(api().api.daemon.status.$get()),
      unwrap(api().api.workspaces.$get()),
      unwrap(api().api.global.approvals.pending.$get({ query: {} })),
    ]);
    daemon.value = status;
    workspaces.value = sets.items;
    pending.value = [...held.items].sort(byAge);
    loadProblem.value = null;
  } catch (error) {
    loadProblem.value = explain(error);
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
 * aborts when a newer key makes the read outdated.
 */
export function useLive(
  key: string,
  read: (late: AbortSignal) => Promise<void>,
  wants: (event: StreamEvent) => boolean,
): void {
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    void read(ended.signal);
    const stop = onEvent((event) => {
      if (event && !wants(event)) return;
      clearTimeout(timer);
      timer = setTimeout(() => void read(ended.signal), REFRESH_MS);
    });
    return () => {
      ended.abort();
      clearTimeout(timer);
      stop();
    };
  }, [key]);
}
