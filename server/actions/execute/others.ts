import type { AuditEvent } from "../../evidence/schema.ts";
import { elsewhere } from "../../db/elsewhere.ts";
import type { ActionServices, Deadlines } from "../context.ts";
import { type ActionRow, findAction } from "../store.ts";
import { executorOf } from "../tools.ts";
import type { DeadlineSource } from "./deadlines.ts";

/** The pause before an approval is taken up again; each further one is twice as long. */
const AGAIN_MS = 500;
const MOST_AGAIN_MS = 30_000;

interface Parts {
  execute: (row: ActionRow) => Promise<unknown>;
  schedule: Deadlines["schedule"];
}

/**
 * Takes over what other machines that share the ledger have committed: this one executes what they
 * approved for its own agents. A failed approval is taken up again: only this machine can do it.
 */
export class Others implements DeadlineSource {
  readonly #services: ActionServices;
  readonly #parts: Parts;
  /** The approvals that could not be taken up, each with the time of the next attempt. */
  readonly #failed = new Map<string, { at: number; attempts: number }>();

  constructor(services: ActionServices, parts: Parts) {
    this.#services = services;
    this.#parts = parts;
  }

  /** Returns at once. */
  hear(events: readonly AuditEvent[]): void {
    const { openings } = this.#services;
    for (const { type, action_id, session_id } of events) {
      if (type === "wall.closed" && session_id !== null) openings.forget(session_id);
      if (type === "action.approved" && action_id !== null) void this.#takeUp(action_id);
    }
  }

  async run(): Promise<void> {
    const now = this.#services.environment.now();
    const due = [...this.#failed].filter(([, { at }]) => at <= now);
    for (const [id] of due) await this.#takeUp(id);
  }

  next(): Promise<string | null> {
    const times = [...this.#failed.values()].map(({ at }) => at);
    return Promise.resolve(times.length > 0 ? new Date(Math.min(...times)).toISOString() : null);
  }

  async #takeUp(id: string): Promise<void> {
    try {
      await this.#executeOwn(id);
      this.#failed.delete(id);
    } catch (error) {
      this.#tryAgain(id, error);
    }
  }

  async #executeOwn(id: string): Promise<void> {
    const { ledger, budgets } = this.#services;
    const row = await findAction(ledger, id);
    if (row?.status !== "approved" || await elsewhere(ledger, row.session_id) !== null) return;
    if (row.decided_by !== "policy") budgets.renew(row);
    // Of two that take it up, the compare-and-set of the start lets one through.
    const isWaiting = row.execution === "none" && executorOf(row) === "gate";
    if (isWaiting) await this.#parts.execute(row);
  }

  #tryAgain(id: string, error: unknown): void {
    const { environment } = this.#services;
    const attempts = this.#failed.get(id)?.attempts ?? 0;
    const at = environment.now() + Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** attempts);
    this.#failed.set(id, { at, attempts: attempts + 1 });
    this.#parts.schedule(new Date(at).toISOString());
    environment.log("error", "Cannot execute an action that another machine approved", {
      action_id: id,
      error: String(error),
    });
  }
}
