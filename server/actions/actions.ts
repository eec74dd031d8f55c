import type { Caller } from "../auth/schema.ts";
import { DEFAULT_WAIT_MS } from "../constants.ts";
import { DEFAULT_LIMIT } from "../db/cursor.ts";
import type { FileImage } from "../runtime/file_image.ts";
import { diffSession } from "../sessions/diff.ts";
import { rollbackSession } from "../sessions/rollback.ts";
import type {
  Session,
  SessionDiff,
  SessionRollbackInput,
  SessionRollbackResult,
} from "../sessions/schema.ts";
import { answerOf, isSettled } from "./answer.ts";
import { claim, report } from "./command.ts";
import { approve, cancel, reject } from "./decide.ts";
import { detailOf } from "./detail.ts";
import { approveWithEdit } from "./edit.ts";
import type { Entered, Road } from "./enter.ts";
import { carryOut, settleLeft } from "./execute.ts";
import { Expiry } from "./expiry.ts";
import type { NativeCall } from "./native/call.ts";
import {
  type NativeCallId,
  type NativeOutcome,
  reportNative,
  settleDone,
  settleNative,
} from "./native/report.ts";
import { claimNative, submitNative } from "./native/submit.ts";
import { loadAction, requireNotViewer, requireReviewer } from "./record.ts";
import { approveRebased } from "./rebase.ts";
import { replay } from "./replay.ts";
import { rollback } from "./rollback.ts";
import type {
  Action,
  ActionDetail,
  ActionStatusView,
  ApproveInput,
  ApproveWithEditInput,
  CancelInput,
  Claim,
  ClaimInput,
  RejectInput,
  ResultInput,
  RollbackInput,
  RollbackResult,
  SubmitInput,
  WaitInput,
} from "./schema.ts";
import type { ActionList, ActionQuery } from "./list/schema.ts";
import { Serial } from "./serial.ts";
import type { ActionServices } from "./services.ts";
import { type ActionRow, listRunning, listUnstarted, publicOf } from "./store.ts";
import { listActions } from "./list/store.ts";
import { submit } from "./submit.ts";
import { Waiters } from "./waiters.ts";

/** What `submit` and `wait` answer: the action, and what the tool returned once it is done. */
export interface Submitted {
  action: Action;
  /** File content of `read_file`, output of `run_command`, the final text after an edit. */
  result: Record<string, unknown> | null;
}

/** The main road of one project: each verb is here, and nothing happens but through here. */
export class Actions {
  readonly #services: ActionServices;
  readonly #road: Road;
  readonly #waiters: Waiters;

  constructor(services: ActionServices) {
    this.#services = services;
    const executor = { services, serial: new Serial(), underWay: new Set<string>() };
    const settle = async (left: ActionRow) => {
      if (left.plan?.native) await settleNative(executor, left);
      else if (!executor.underWay.has(left.id)) await settleLeft(executor, left);
    };
    this.#road = { ...executor, expiry: new Expiry(services, settle), granting: new Serial() };
    this.#waiters = new Waiters(services.bus, services.project_id);
  }

  /** Settles what a crash left open: intents by looking at the files, commands as `unknown`. */
  async recover(): Promise<void> {
    const { ledger } = this.#services;
    // What a host does goes on without us: it still has its time to report.
    const own = (await listRunning(ledger)).filter(({ plan }) => !plan?.native);
    const isCommand = ({ tool }: ActionRow) => tool === "run_command";
    // Commands last: what one has changed is told by the files, once everything else is settled.
    for (const row of own.filter((one) => !isCommand(one))) await settleLeft(this.#road, row);
    for (const row of own.filter(isCommand)) await settleLeft(this.#road, row);
    for (const row of await listUnstarted(ledger)) await carryOut(this.#road, row);
    await this.#road.expiry.start();
  }

  /** Answers everybody who waits, and from now on whoever would wait. */
  letGo(): void {
    this.#waiters.close();
  }

  /** Stops timers and waits; called before the ledger is closed. */
  async close(): Promise<void> {
    this.#road.expiry.close();
    this.#waiters.close();
    await this.#road.serial.run(() => Promise.resolve());
  }

  /** Checks, records and, where policy allows it, does it; waits for a person where asked to. */
  async submit(input: SubmitInput, caller: Caller): Promise<Submitted> {
    const entered = await submit(this.#road, input, caller);
    return await this.#settled(entered, input.wait_ms ?? 0);
  }

  /** Waits until there is something to tell, at most as long as asked: 45 s unless said. */
  async wait(id: string, input: WaitInput, _caller: Caller): Promise<Submitted> {
    const row = await loadAction(this.#services, id);
    return await this.#settled({ row, image: null }, input.timeout_ms ?? DEFAULT_WAIT_MS);
  }

  /**
   * Checks and records what a host's own tool is about to do, and waits for a person where asked
   * to; null where nothing speaks of it. Running: the host may go on.
   */
  async submitNative(
    call: NativeCall,
    { session, wait_ms }: { session: Session; wait_ms: number },
    caller: Caller,
  ): Promise<Action | null> {
    const entered = await submitNative(this.#road, session, call, caller);
    if (!entered) return null;
    const { row, is_own } = entered;
    // Begun by this very call, as policy allows it; what an equal one has begun is none of its own.
    if (is_own && row.status !== "pending") return publicOf(row);
    const decided = await this.#until(row, wait_ms, ({ status }) => status !== "pending");
    const isGiven = decided.status === "approved";
    return publicOf(isGiven ? await claimNative(this.#road, decided, call.key, caller) : decided);
  }

  /** Records what came of a call of a host's own tool; null where none such is under way. */
  async reportNative(
    call: NativeCallId,
    outcome: NativeOutcome,
    caller: Caller,
  ): Promise<Action | null> {
    requireNotViewer(caller, "report a result");
    const row = await reportNative(this.#road, call, outcome, caller);
    return row && publicOf(row);
  }

  async claim(id: string, input: ClaimInput, caller: Caller): Promise<Claim> {
    return await claim(this.#road, id, input, caller);
  }

  async result(id: string, input: ResultInput, caller: Caller): Promise<Action> {
    return publicOf(await report(this.#road, id, input, caller));
  }

  async cancel(id: string, input: CancelInput, caller: Caller): Promise<Action> {
    return publicOf(await cancel(this.#road, id, input, caller));
  }

  async approve(id: string, input: ApproveInput, caller: Caller): Promise<Action> {
    const { base_sha256, ...rest } = input;
    return publicOf(
      base_sha256 === undefined
        ? await approve(this.#road, id, rest, caller)
        : await approveRebased(this.#road, id, { ...rest, base_sha256 }, caller),
    );
  }

  async reject(id: string, input: RejectInput, caller: Caller): Promise<Action> {
    return publicOf(await reject(this.#road, id, input, caller));
  }

  async approveWithEdit(id: string, input: ApproveWithEditInput, caller: Caller): Promise<Action> {
    return publicOf(await approveWithEdit(this.#road, id, input, caller));
  }

  async rollback(id: string, input: RollbackInput, caller: Caller): Promise<RollbackResult> {
    requireReviewer(caller, "roll back");
    const { session_id } = await loadAction(this.#services, id);
    await settleDone(this.#road, session_id);
    return await rollback(this.#road, id, input, caller);
  }

  /** Undoes a session, or the actions named of it. */
  async rollbackSession(
    session_id: string,
    input: SessionRollbackInput & { action_ids?: string[] },
    caller: Caller,
  ): Promise<SessionRollbackResult> {
    requireReviewer(caller, "roll back");
    await settleDone(this.#road, session_id);
    return await rollbackSession(this.#road, session_id, input, caller);
  }

  /** What a session did to the files. */
  async diffSession(session_id: string): Promise<SessionDiff> {
    return await diffSession(this.#services, session_id);
  }

  async replay(id: string, caller: Caller): Promise<Submitted> {
    return await this.#answer(await replay(this.#road, id, caller));
  }

  /** Expires what nobody decided in time; a timer does so by itself. */
  async expireDue(): Promise<void> {
    await this.#road.expiry.expireDue();
  }

  async get(id: string): Promise<Action> {
    return publicOf(await loadAction(this.#services, id));
  }

  async detail(id: string): Promise<ActionDetail> {
    return await detailOf(this.#services, id);
  }

  async status(id: string): Promise<ActionStatusView> {
    const row = await loadAction(this.#services, id);
    const { status, execution, decided_by, reason } = row;
    return { id, status, execution, decided_by, reason, approvals: approvalsOf(row) };
  }

  async list(query: ActionQuery): Promise<ActionList> {
    return await listActions(this.#services.ledger, query, query.limit ?? DEFAULT_LIMIT);
  }

  async #settled({ row, image }: Entered, timeout_ms: number): Promise<Submitted> {
    if (isSettled(row) || timeout_ms === 0) return await this.#answer({ row, image });
    const settled = await this.#until(row, timeout_ms, isSettled);
    return await this.#answer({ row: settled, image: null });
  }

  async #until(
    row: ActionRow,
    timeout_ms: number,
    isFound: (row: ActionRow) => boolean,
  ): Promise<ActionRow> {
    if (isFound(row) || timeout_ms === 0) return row;
    return await this.#waiters.until(row.id, timeout_ms, async () => {
      const value = await loadAction(this.#services, row.id);
      return { found: isFound(value), value };
    });
  }

  async #answer({ row, image }: { row: ActionRow; image: FileImage | null }): Promise<Submitted> {
    return { action: publicOf(row), result: await answerOf(this.#services, row, image) };
  }
}

/** One person is enough; whose turn it is with several is for approval routes to say. */
function approvalsOf(row: ActionRow): ActionStatusView["approvals"] {
  const byPerson = row.status === "approved" && row.decided_by !== "policy";
  return { need: 1, have: byPerson ? 1 : 0 };
}
