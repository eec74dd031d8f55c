import { clearTimeout, setTimeout } from "node:timers";
import { BY_SYSTEM, eventOf } from "./record.ts";
import { changesIn, outcomeOf } from "./reach/outcome.ts";
import { type ActionServices, timestamp } from "./services.ts";
import {
  type ActionRow,
  listDue,
  listRunning,
  nextDeadline,
  updateAction,
  whereStands,
} from "./store.ts";

/** The clock may jump: however far the next deadline is, it is looked at again after this. */
const LOOK_AGAIN_MS = 30_000;
/** Beyond its own time-out, for a command whose holder has vanished. */
const HOLDER_GRACE_MS = 60_000;

/** Ends what nobody decided in time, which is never an approval, and what was left behind. */
export class Expiry {
  readonly #services: ActionServices;
  readonly #settle: (left: ActionRow) => Promise<unknown>;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #at = Infinity;
  #closed = false;

  /** `settle` is given what is recorded as running, and settles it unless it really is. */
  constructor(services: ActionServices, settle: (left: ActionRow) => Promise<unknown>) {
    this.#services = services;
    this.#settle = settle;
  }

  /** Looks again before long: something has begun, and may be left behind. */
  soon(): void {
    this.schedule(timestamp(this.#services.environment, LOOK_AGAIN_MS));
  }

  /** Looks again when this moment has come, unless it does so sooner anyway. */
  schedule(at: string): void {
    const time = Math.min(Date.parse(at), this.#services.environment.now() + LOOK_AGAIN_MS);
    if (this.#closed || time >= this.#at) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#at = time;
    const delay = Math.max(0, time - this.#services.environment.now());
    this.#timer = setTimeout(() => void this.#look(), delay + 1);
    this.#timer.unref();
  }

  /** Expires what is due, settles what was left behind, gives up commands that are long overdue. */
  async expireDue(): Promise<void> {
    const { ledger, environment } = this.#services;
    for (const row of await listDue(ledger, timestamp(environment))) await this.#expire(row);
    for (const row of await listRunning(ledger)) {
      const isElsewhere = row.tool === "run_command" || row.plan?.native !== undefined;
      if (!isElsewhere) await this.#settle(row);
      else if (await this.#isOverdue(row)) {
        await (row.plan?.native ? this.#settle(row) : this.#giveUp(row));
      }
    }
  }

  /** Expires what is due and schedules the next look, as long as anything may still expire. */
  async start(): Promise<void> {
    await this.expireDue();
    const { ledger, environment } = this.#services;
    const next = await nextDeadline(ledger);
    const isRunning = (await listRunning(ledger)).length > 0;
    if (next ?? isRunning) this.schedule(next ?? timestamp(environment, LOOK_AGAIN_MS));
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    this.#at = Infinity;
    try {
      await this.start();
    } catch (error) {
      if (this.#closed) return;
      const { environment } = this.#services;
      environment.log("error", "Cannot expire what is due", { error: String(error) });
      this.schedule(timestamp(environment, LOOK_AGAIN_MS));
    }
  }

  async #expire(row: ActionRow): Promise<void> {
    const { ledger, project_id, environment } = this.#services;
    const decision_id = environment.id();
    const reason = "Nobody decided in time";
    const decided_at = timestamp(environment);
    await ledger.commit({
      statements: [updateAction(
        project_id,
        row.id,
        { status: "expired", decision_id, decided_at, decided_by: "system", reason },
        { status: "pending", digest: row.digest },
      )],
      events: [eventOf(row, "action.expired", BY_SYSTEM, { expires_at: row.expires_at })],
      when: whereStands(project_id, row.id, { decision_id }),
    });
  }

  async #isOverdue(row: ActionRow): Promise<boolean> {
    const { environment, config } = this.#services;
    const { commandTimeoutSeconds } = (await config.inForce()).compiled.limits;
    const allowed = commandTimeoutSeconds * 1000 + HOLDER_GRACE_MS;
    return environment.now() > Date.parse(row.started_at ?? row.created_at) + allowed;
  }

  /** Its result may still come: whoever holds the claim can then report it. */
  async #giveUp(row: ActionRow): Promise<void> {
    const { ledger, project_id, environment } = this.#services;
    const error = "Whoever ran it has not reported: what came of it is not known";
    const finished_at = timestamp(environment);
    const decision_id = environment.id();
    const { fields, statements } = await outcomeOf(this.#services, row);
    await ledger.commit({
      statements: [
        ...statements,
        updateAction(
          project_id,
          row.id,
          { ...fields, execution: "unknown", error, finished_at, decision_id },
          { execution: ["running"], claim_id: row.claim_id ?? "" },
        ),
      ],
      events: [eventOf(row, "action.finished", BY_SYSTEM, {
        ...{ execution: "unknown", error, changes: changesIn(fields) },
      })],
      when: whereStands(project_id, row.id, { decision_id }),
    });
  }
}
