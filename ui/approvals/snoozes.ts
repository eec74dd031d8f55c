import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import { now } from "../state/live.ts";

/** A held action that sinks in the queue until a time, or until it changes. */
interface Snooze {
  /** Milliseconds since 1970; null until it changes. */
  until: number | null;
  /** The state of the action when the person snoozed it. */
  version: string;
}

type Held = Pick<Action, "id" | "digest" | "conflicts" | "expires_at">;

const NAME = "gate.snoozed";
const MOST = 500;
/** A snoozed action comes back so long before its deadline. */
const BEFORE_DEADLINE_MS = 10 * 60_000;

/** The snoozed actions of this browser, by id. */
export const snoozes = signal<ReadonlyMap<string, Snooze>>(read());

addEventListener("storage", ({ key }) => {
  if (key === NAME) snoozes.value = read();
});

/** When the action comes back; null if it is not snoozed. */
export function snoozeOf(action: Held): Snooze | null {
  const snooze = snoozes.value.get(action.id);
  if (!snooze || snooze.version !== versionOf(action)) return null;
  return endOf(action, snooze) > now.value ? snooze : null;
}

/** Snoozes an action. False if its deadline is too near. */
export function snooze(action: Held, minutes: number | null): boolean {
  const until = minutes === null ? null : Date.now() + minutes * 60_000;
  const made = { until, version: versionOf(action) };
  if (endOf(action, made) <= Date.now()) return false;
  keep([...[...snoozes.peek()].filter(([id]) => id !== action.id), [action.id, made]]);
  return true;
}

/** Brings a snoozed action back. */
export function wake(id: string): void {
  keep([...snoozes.peek()].filter(([known]) => known !== id));
}

function endOf({ expires_at }: Held, { until }: Snooze): number {
  const latest = expires_at === null ? Infinity : Date.parse(expires_at) - BEFORE_DEADLINE_MS;
  return Math.min(until ?? Infinity, latest);
}

/** The same text while nothing about the question changes. */
function versionOf({ digest, conflicts }: Held): string {
  return `${digest} ${conflicts.length}`;
}

function keep(entries: [string, Snooze][]): void {
  const lasting = entries.filter(([, { until }]) => until === null || until > Date.now());
  const kept = lasting.slice(-MOST);
  snoozes.value = new Map(kept);
  localStorage.setItem(NAME, JSON.stringify(kept));
}

// Another program may have written anything there.
function read(): ReadonlyMap<string, Snooze> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return new Map((kept as unknown[]).filter(isEntry).slice(-MOST));
  } catch {
    return new Map();
  }
}

function isEntry(value: unknown): value is [string, Snooze] {
  const [id, found] = value as [unknown, Partial<Snooze> | undefined];
  return typeof id === "string" && typeof found?.version === "string" &&
    (found.until === null || typeof found.until === "number");
}
