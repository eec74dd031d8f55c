import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { MOST_KEYS } from "../db/ledger_rollups.ts";
import { nextNumber } from "../db/word_blocks.ts";
import {
  BY_NAME,
  type Counts,
  type DaySpan,
  type Grouping,
  type Parts,
  type Sums,
} from "./day_sums.ts";
import { Latencies } from "./latencies.ts";
import type { Bounds } from "./schema.ts";
import type { Kind } from "./store.ts";
import { type Counted, eventsOf, listDecided, listSubmitted, numbersOf } from "./step_store.ts";

/** The most actions or events of one statement. A read blocks the event loop, so each is short. */
const PAGE = 500;

/** One more in a count: its kind and key are those of the daily counts; `at` is a day or a step. */
interface Addend {
  kind: Kind;
  at: string;
  key: string;
}

/**
 * The counts of one ledger between two moments. Daily counts know no times, so these are counted
 * from the actions themselves; the daily counts give the same for a whole day.
 */
export class StepSums implements Sums {
  /** The count of each kind, time and key. */
  readonly #sums = new Map<string, Addend & { n: number }>();
  /** The number of keys of each kind and time. */
  readonly #keys = new Map<string, number>();
  readonly #latencies = new Latencies();

  private constructor() {}

  /** Counts the actions of the range. @param step_ms decisions are counted by steps of this length */
  static async read(ledger: Ledger, bounds: Bounds, step_ms: number): Promise<StepSums> {
    const sums = new StepSums();
    for await (const action of actionsOf(ledger, bounds)) {
      for (const addend of submissionOf(action, bounds)) sums.#add(addend);
      for (const addend of decisionOf(action, bounds, step_ms)) sums.#add(addend);
      if (isReviewed(action) && isWithin(action.decided_at, bounds)) {
        sums.#latencies.addTime(waitOf(action));
      }
    }
    return sums;
  }

  counts(kind: Kind, _span: DaySpan, { keyOf }: Grouping = BY_NAME): Promise<Parts<Counts>> {
    const open = new Map<string, number>();
    for (const addend of this.#sums.values()) {
      if (addend.kind !== kind) continue;
      const name = keyOf(addend.key, addend.at);
      open.set(name, (open.get(name) ?? 0) + addend.n);
    }
    return Promise.resolve({ over: new Map(), open });
  }

  latencies(): Promise<Parts<Latencies>> {
    return Promise.resolve({ over: new Latencies(), open: this.#latencies });
  }

  /** An agent chooses paths and names, so a time with too many counts the rest under the empty key. */
  #add({ kind, at, key }: Addend): void {
    const known = this.#sums.get(`${kind} ${at} ${key}`);
    if (known) {
      known.n += 1;
      return;
    }
    const keys = this.#keys.get(`${kind} ${at}`) ?? 0;
    if (keys >= MOST_KEYS && key !== "") return this.#add({ kind, at, key: "" });
    this.#keys.set(`${kind} ${at}`, keys + 1);
    this.#sums.set(`${kind} ${at} ${key}`, { kind, at, key, n: 1 });
  }
}

/** The actions that were submitted or decided in the range, each once. */
async function* actionsOf(ledger: Ledger, bounds: Bounds): AsyncGenerator<Counted> {
  const numbers = await numbersOf(ledger, bounds);
  let { first } = numbers;
  while (first <= numbers.last) {
    const last = Math.min(numbers.last, first + PAGE - 1);
    yield* await listSubmitted(ledger, bounds, { first, last });
    await pause();
    // The numbers of actions can have a gap of any size.
    first = await nextNumber(ledger, last);
  }
  const seen = new Set<number>();
  let events = await eventsOf(ledger, bounds);
  while (events.first <= events.last) {
    const page = await listDecided(ledger, bounds, { events, except: numbers, limit: PAGE });
    for (const action of page.counted) {
      if (!seen.has(action.seq)) yield action;
      seen.add(action.seq);
    }
    if (page.rows < PAGE) return;
    events = { ...events, first: page.end + 1 };
    await pause();
  }
}

function submissionOf(action: Counted, bounds: Bounds): Addend[] {
  const { created_at, path, status } = action;
  if (!isWithin(created_at, bounds)) return [];
  const at = created_at.slice(0, 10);
  return [
    { kind: "hour", at, key: created_at.slice(11, 13) },
    ...status === "blocked" && path !== null
      ? [{ kind: "blocked_path", at, key: path } as const]
      : [],
  ];
}

function decisionOf(action: Counted, bounds: Bounds, step_ms: number): Addend[] {
  const { decided_at, decided_by, agent, effect, source, list, pattern } = action;
  if (!isWithin(decided_at, bounds) || isOwnRollback(action)) return [];
  const at = new Date(Math.floor(Date.parse(decided_at) / step_ms) * step_ms).toISOString();
  // A rollback comes after the decision, which it does not change.
  const status = action.status === "rolled_back" ? "approved" : action.status;
  const addends: Addend[] = [
    { kind: "agent", at, key: JSON.stringify([agent, status]) },
    { kind: "rule", at, key: JSON.stringify([effect, source, list, pattern, status]) },
  ];
  if (isReviewed(action)) {
    addends.push({ kind: "reviewer", at, key: JSON.stringify([decided_by, status]) });
  }
  if (decided_by === "policy" && action.status === "rolled_back" && action.tool !== "rollback") {
    addends.push({ kind: "rolled_back", at, key: "allowed" });
  }
  return addends;
}

function isWithin(at: string | null, { from, to }: Bounds): at is string {
  return at !== null && at >= from && (to === null || at < to);
}

/** A person's own rollback is decided as it is submitted; nobody was asked. */
function isOwnRollback({ tool, decided_by, decided_at, created_at }: Counted): boolean {
  return tool === "rollback" && decided_by !== "policy" && decided_at === created_at;
}

/** Whether a person decided about the held action. */
function isReviewed(action: Counted): boolean {
  return ["approved", "rejected", "rolled_back"].includes(action.status) &&
    action.decided_by !== "policy" && action.decided_by !== null && !isOwnRollback(action);
}

function waitOf({ created_at, decided_at }: Counted): number {
  return Math.max(0, Date.parse(decided_at!) - Date.parse(created_at));
}
