import { clearTimeout, setTimeout } from "node:timers";
import { type ActionServices, type Deadlines, timestamp } from "../context.ts";
import { changesIn, effectsOf } from "../effects/outcome.ts";
import { endGuarding, withGuarded } from "../guarding/project_guard.ts";
import { type ActionRow, listDue, listRunning, nextDeadline } from "../store.ts";
import { executorOf } from "../tools.ts";
import { BY_SYSTEM, transition } from "../transition.ts";
import { endWalls } from "./walled.ts";

/** The longest pause between two checks, because the clock may jump. */
const CHECK_MS = 30_000;
/** Added to a command's time-out, for a claimer that has vanished. */
const CLAIMER_GRACE_MS = 60_000;

/** Expires held actions at their deadline, and recovers executions that were abandoned. */
export class Expiry implements Deadlines {
  readonly #services: ActionServices;
  readonly #recover: (row: ActionRow) => Promise<unknown>;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #at = Infinity;
  #closed = false;

  /** `recover` gets actions that are recorded as running; it skips those that really are. */
  constructor(services: ActionServices, recover: (row: ActionRow) => Promise<unknown>) {
    this.#services = services;
    this.#recover = recover;
  }

  soon(): void {
    this.schedule(timestamp(this.#services.environment, CHECK_MS));
  }

  schedule(at: string): void {
    const time = Math.min(Date.parse(at), this.#services.environment.now() + CHECK_MS);
    if (this.#closed || time >= this.#at) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#at = time;
    const delay = Math.max(0, time - this.#services.environment.now());
    this.#timer = setTimeout(() => void this.#check(), delay + 1);
    this.#timer.unref();
  }

  async expireDue(): Promise<void> {
    const { ledger, environment } = this.#services;
    for (const row of await listDue(ledger, timestamp(environment))) await this.#expire(row);
    for (const row of await listRunning(ledger)) {
      const executor = executorOf(row);
      const isElsewhere = executor === "claimer" || executor === "host";
      if (isElsewhere && !await this.#isOverdue(row)) continue;
      await (executor === "claimer" ? this.#giveUp(row) : this.#recover(row));
    }
  }

  /** Expires due actions, and schedules the next check if any action may still expire. */
  async start(): Promise<void> {
    await this.expireDue();
    const { ledger, environment } = this.#services;
    const next = await nextDeadline(ledger);
    const isRunning = (await listRunning(ledger)).length > 0;
    if (next ?? isRunning) this.schedule(next ?? timestamp(environment, CHECK_MS));
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    this.#at = Infinity;
    try {
      await this.start();
    } catch (error) {
      if (this.#closed) return;
      const { environment } = this.#services;
      environment.log("error", "Cannot expire held actions", { error: String(error) });
      this.schedule(timestamp(environment, CHECK_MS));
    }
  }

  async #expire(row: ActionRow): Promise<void> {
    const reason = "Nobody decided in time";
    const decided_at = timestamp(this.#services.environment);
    await transition(this.#services, row, {
      from: { status: "pending", digest: row.digest },
      to: { status: "expired", decided_at, decided_by: "system", reason },
      by: BY_SYSTEM,
      type: "action.expired",
      why: { expires_at: row.expires_at },
    });
  }

  async #isOverdue(row: ActionRow): Promise<boolean> {
    const { environment, config } = this.#services;
    const { commandTimeoutSeconds } = (await config.inForce()).compiled.limits;
    const allowed = commandTimeoutSeconds * 1000 + CLAIMER_GRACE_MS;
    return environment.now() > Date.parse(row.started_at ?? row.created_at) + allowed;
  }

  /** Records the outcome as unknown. The holder of the claim can still report the result. */
  async #giveUp(row: ActionRow): Promise<void> {
    const error = "The process that claimed it has not reported: the outcome is unknown";
    const guarded = [
      ...await endGuarding(this.#services, row),
      ...await endWalls(this.#services, row),
    ];
    const effects = await effectsOf(this.#services, row);
    const { fields, statements } = withGuarded(row, effects, guarded);
    const finished_at = timestamp(this.#services.environment);
    await transition(this.#services, row, {
      from: { execution: ["running"], claim_id: row.claim_id ?? "" },
      to: { ...fields, execution: "unknown", error, finished_at },
      by: BY_SYSTEM,
      type: "action.finished",
      why: { execution: "unknown", error, changes: changesIn(fields) },
      before: statements,
    });
  }
}
