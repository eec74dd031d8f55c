import type { Ledger } from "../../db/ledger.ts";
import { createGrowingCache } from "../../growing_cache.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import type { Plan } from "../plan.ts";
import type { ActionRow } from "../store.ts";
import { listSpending, type Spending } from "./budgets_store.ts";

/** The changes of a session since a person last looked. */
interface Spent {
  files: Set<string>;
  bytes: number;
  deletions: number;
}

/** The list of the builtin rule about spent budgets. */
export const BUDGET = "budget";

const MOST_SESSIONS = 1_000;
const PAGE = 100;

/**
 * Counts the files, bytes and deletions of each session that no person approved. The ledger has all
 * of it, so a restart forgets nothing.
 */
export class Budgets {
  readonly #ledger: Ledger;
  readonly #spent = createGrowingCache<Spent>(MOST_SESSIONS);
  readonly #loading = new Map<string, Promise<Spent>>();
  /** Sessions that changed something while their budget was read. */
  readonly #stale = new Set<string>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** The files, bytes and deletions that the session has spent. */
  async of(session_id: string): Promise<{ files: number; bytes: number; deletions: number }> {
    const { files, bytes, deletions } = await this.#read(session_id);
    return { files: files.size, bytes, deletions };
  }

  /** The limit that the session would exceed with these changes, in words; null for none. */
  async exceeded(
    session_id: string,
    changes: Plan["changes"],
    limits: PolicyLimits,
  ): Promise<{ limit: keyof PolicyLimits; reason: string } | null> {
    const spent = this.#spent.get(session_id) ?? await this.#read(session_id);
    const wanted = sumOf(changes);
    const more = wanted.paths.filter((path) => !spent.files.has(path)).length;
    const isOpen = changes.length === 0 ? 1 : 0;
    const rows = [
      ["maxChangedFilesPerSession", spent.files.size + more, "changed files"],
      ["maxChangedBytesPerSession", spent.bytes + wanted.bytes, "changed bytes"],
      ["maxDeletionsPerSession", spent.deletions + wanted.deletions, "deletions"],
    ] as const;
    const found = rows.find(([limit, sum]) => sum + isOpen > limits[limit]);
    if (found === undefined) return null;
    const [limit, sum, what] = found;
    const reason = `The session has spent its budget: it would reach ${sum} ${what} that nobody ` +
      `reviewed, and may reach ${limits[limit]}`;
    return { limit, reason };
  }

  /** Counts an action that policy allowed. */
  count(row: ActionRow): void {
    if (row.decided_by !== "policy") return;
    const { session_id } = row;
    const spent = this.#spent.get(session_id);
    if (spent) add(spent, spendingOf(row));
    else if (this.#loading.has(session_id)) this.#stale.add(session_id);
  }

  /** A person has looked at the session, so it has a fresh budget. */
  renew({ session_id, decision }: Pick<ActionRow, "session_id" | "decision">): void {
    if (decision.rule?.list === BUDGET) {
      this.#spent.set(session_id, { files: new Set(), bytes: 0, deletions: 0 });
    }
  }

  #read(session_id: string): Promise<Spent> {
    const loading = this.#loading.get(session_id) ??
      this.#load(session_id).finally(() => this.#loading.delete(session_id));
    this.#loading.set(session_id, loading);
    return loading;
  }

  async #load(session_id: string): Promise<Spent> {
    for (;;) {
      this.#stale.delete(session_id);
      const spent = await this.#sum(session_id);
      if (this.#stale.has(session_id)) continue;
      this.#spent.set(session_id, spent);
      return spent;
    }
  }

  /** Sums the actions of the session, newest first, back to the last renewal. */
  async #sum(session_id: string): Promise<Spent> {
    const spent: Spent = { files: new Set(), bytes: 0, deletions: 0 };
    for (let before = Number.MAX_SAFE_INTEGER;;) {
      const rows = await listSpending(this.#ledger, session_id, { before, limit: PAGE });
      for (const row of rows) {
        if (row.rule === BUDGET && row.decided_by !== "policy") return spent;
        if (row.decided_by === "policy") add(spent, row);
      }
      if (rows.length < PAGE) return spent;
      before = rows.at(-1)!.seq;
    }
  }
}

function add(
  spent: Spent,
  { changes, writes, deletes }: Pick<Spending, "changes" | "writes" | "deletes">,
): void {
  const { paths, bytes, deletions } = sumOf(changes);
  for (const path of [...paths, ...writes, ...deletes]) spent.files.add(path);
  spent.bytes += bytes;
  spent.deletions += deletions + deletes.length;
}

/** A host runs its commands itself, so their analysis is all that gate knows of their effects. */
function spendingOf(
  { plan, analysis }: ActionRow,
): Pick<Spending, "changes" | "writes" | "deletes"> {
  const changes = plan?.changes ?? [];
  const isKnown = changes.length > 0 || plan?.native === undefined;
  const { writes, deletes } = isKnown || analysis === null ? NOTHING : analysis;
  return { changes, writes, deletes };
}

const NOTHING = { writes: [], deletes: [] };

function sumOf(changes: readonly Spending["changes"][number][]) {
  const moved = new Set(
    changes.filter(({ before, after }) => before === null && after !== null)
      .map(({ after }) => after!.sha256),
  );
  const gone = changes.filter(({ before, after }) =>
    after === null && !(before !== null && moved.has(before.sha256))
  );
  return {
    paths: changes.map(({ path }) => path),
    bytes: changes.reduce((sum, { after }) => sum + (after?.bytes ?? 0), 0),
    deletions: gone.length,
  };
}
