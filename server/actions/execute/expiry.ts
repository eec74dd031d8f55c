import { type ActionServices, timestamp } from "../context.ts";
import { changesIn, effectsOf } from "../effects/outcome.ts";
import { endGuarding, withGuarded } from "../guarding/project_guard.ts";
import { closing } from "../review/notices.ts";
import { type ActionRow, findAction, listDue, listRunning, nextDeadline } from "../store.ts";
import { executorOf } from "../tools.ts";
import { BY_SYSTEM, transition } from "../transition.ts";
import { CHECK_MS, type DeadlineSource, doEach } from "./deadlines.ts";
import { endWalls } from "./walled.ts";

/** Added to a command's time-out, for a claimer that has vanished. */
const CLAIMER_GRACE_MS = 60_000;

/** Expires held actions at their deadline. Time never approves one. */
export class Expiry implements DeadlineSource {
  readonly #services: ActionServices;

  constructor(services: ActionServices) {
    this.#services = services;
  }

  async run(): Promise<void> {
    const { ledger, environment } = this.#services;
    await doEach(await listDue(ledger, timestamp(environment)), (row) => this.#expire(row));
  }

  async next(): Promise<string | null> {
    return await nextDeadline(this.#services.ledger);
  }

  async #expire(row: ActionRow): Promise<void> {
    const reason = "Nobody decided in time";
    const decided_at = timestamp(this.#services.environment);
    await transition(this.#services, row, {
      // If an escalation comes between, the next check expires the action.
      from: { status: "pending", digest: row.digest, decision_id: row.decision_id },
      to: { status: "expired", decided_at, decided_by: "system", reason },
      by: BY_SYSTEM,
      type: "action.expired",
      why: { expires_at: row.expires_at },
      later: await closing(this.#services, row),
    });
  }
}

/** Looks again at the files of a command that went on in its sandbox after its outcome. */
export class GoneOn implements DeadlineSource {
  readonly #services: ActionServices;

  constructor(services: ActionServices) {
    this.#services = services;
  }

  async run(): Promise<void> {
    const { sandboxes, ledger } = this.#services;
    await doEach(sandboxes.goingOn(), async (id) => {
      // It may be one of another project.
      const row = sandboxes.lanes.holds(id) ? null : await findAction(ledger, id);
      if (row && row.execution !== "running") await endWalls(this.#services, row);
    });
  }

  next(): Promise<string | null> {
    const { sandboxes, environment } = this.#services;
    const isAny = sandboxes.goingOn().length > 0;
    return Promise.resolve(isAny ? timestamp(environment, CHECK_MS) : null);
  }
}

/** Recovers executions that were abandoned. */
export class Abandoned implements DeadlineSource {
  readonly #services: ActionServices;
  readonly #recover: (row: ActionRow) => Promise<unknown>;

  /** `recover` gets actions that are recorded as running; it skips those that really are. */
  constructor(services: ActionServices, recover: (row: ActionRow) => Promise<unknown>) {
    this.#services = services;
    this.#recover = recover;
  }

  async run(): Promise<void> {
    await doEach(await listRunning(this.#services.ledger), async (row) => {
      const executor = executorOf(row);
      const isElsewhere = executor === "claimer" || executor === "host";
      if (isElsewhere && !await this.#isOverdue(row)) return;
      await (executor === "claimer" ? this.#giveUp(row) : this.#recover(row));
    });
  }

  async next(): Promise<string | null> {
    const { ledger, environment } = this.#services;
    return (await listRunning(ledger)).length > 0 ? timestamp(environment, CHECK_MS) : null;
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
    const { lanes } = this.#services.sandboxes;
    const guarded = [
      ...await endGuarding(this.#services, row),
      ...await endWalls(this.#services, row, { goes_on: lanes.holds(row.id) }),
    ];
    const effects = await effectsOf(this.#services, row);
    const { fields, statements } = withGuarded(row, effects, guarded);
    const finished_at = timestamp(this.#services.environment);
    await transition(this.#services, row, {
      from: { execution: ["running"], claim_id: row.claim_id ?? "" },
      to: { ...fields, execution: "unknown", error, finished_at },
      by: BY_SYSTEM,
      type: "action.finished",
      why: { execution: "unknown", error, changes: changesIn({ ...row, ...fields }) },
      before: statements,
    });
  }
}
