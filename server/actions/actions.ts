import { z } from "zod";
import type { Caller } from "../auth/schema.ts";
import { requireNotViewer, requireReviewer } from "../auth/scopes.ts";
import { DEFAULT_WAIT_MS } from "../constants.ts";
import { DEFAULT_LIMIT } from "../db/cursor.ts";
import { GateError } from "../errors.ts";
import {
  type ActionContext,
  type ActionServices,
  type ActionSession,
  loadAction,
} from "./context.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { Others } from "./execute/others.ts";
import { countApprovals, describeApprovals, listApprovals } from "./review/approvals.ts";
import { listEscalations, Notices } from "./review/notices.ts";
import type { Escalation, RoutedApproval } from "./review/schema.ts";
import { approve, approveWithEdit, cancel, reject } from "./review/review.ts";
import { claim, claimNative, report } from "./execute/command.ts";
import { executeApproved, recoverAction, refuseForged } from "./execute/execute.ts";
import { DeadlineQueue } from "./execute/deadlines.ts";
import { Abandoned, Expiry, GoneOn } from "./execute/expiry.ts";
import {
  type NativeCallId,
  type NativeOutcome,
  recoverNative,
  recoverSession,
  reportNative,
} from "./execute/native_report.ts";
import { belongsBehind, endWalled, startWalled, type WalledRun } from "./execute/walled_native.ts";
import { lookAgain, resumeGuarding } from "./guarding/project_guard.ts";
import type { ActionList, ActionQuery } from "./list/schema.ts";
import { listActions } from "./list/store.ts";
import { passElsewhere, type Request, requireHere } from "../db/elsewhere.ts";
import { Serial } from "./scheduling.ts";
import { Action, Approved, RollbackResult } from "./schema.ts";
import type {
  ActionDetail,
  ActionStatusView,
  ApproveInput,
  ApproveWithEditInput,
  CancelInput,
  Claim,
  ClaimInput,
  RejectAllInput,
  RejectAllResult,
  RejectInput,
  ReplayInput,
  ResultInput,
  RollbackInput,
  ShownImage,
  SubmitInput,
  WaitInput,
} from "./schema.ts";
import { isSettled, resultOf } from "./show/answer.ts";
import { detailOf } from "./show/detail.ts";
import { imageOf } from "./show/image.ts";
import { Waiters } from "./show/waiters.ts";
import { type ActionRow, listHeld, listRunning, listUnstarted, publicOf } from "./store.ts";
import { type NativeCall, submitNative } from "./submit/native.ts";
import type { Submission } from "./submit/record.ts";
import { replay, submit } from "./submit/submit.ts";
import { executorOf } from "./tools.ts";
import { rollback } from "./rollback/rollback.ts";

/** The answer of `submit` and `wait`: the action, with the result of the tool once it is finished. */
export interface Submitted {
  action: Action;
  /** The content of `read_file`, the output of `run_command`, the final text after an edit. */
  result: Record<string, unknown> | null;
}

/** The actions of one project. Every verb on them is a method of this class. */
export class Actions {
  readonly #services: ActionServices;
  readonly #context: ActionContext;
  readonly #deadlines: DeadlineQueue;
  readonly #others: Others;
  readonly #waiters: Waiters;

  constructor(services: ActionServices) {
    this.#services = services;
    this.#others = new Others(services, {
      execute: (row) => executeApproved(this.#context, row),
      schedule: (at) => this.#deadlines.schedule(at),
    });
    this.#deadlines = new DeadlineQueue(services.environment, [
      new Expiry(services),
      new Notices(services),
      new Abandoned(services, (row) => this.#recover(row)),
      new GoneOn(services),
      this.#others,
      { run: () => services.blocks.endDue(), next: () => services.blocks.nextEnd() },
    ]);
    services.blocks.onAdded((expires_at) => this.#deadlines.schedule(expires_at));
    this.#context = {
      services,
      serial: new Serial(),
      granting: new Serial(),
      voting: new Serial(),
      running: new Set(),
      deadlines: this.#deadlines,
    };
    this.#waiters = new Waiters(services.bus, services.project_id);
  }

  /** Recovers what a crash left open: changes of files by the files, commands as `unknown`. */
  async recover(): Promise<void> {
    const { ledger } = this.#services;
    for (const row of await listRunning(ledger)) {
      if (await refuseForged(this.#services, row)) continue;
      // A host goes on without the gate and still has time to report.
      if (executorOf(row) === "host") await resumeGuarding(this.#services, row);
    }
    const left = (await listRunning(ledger)).filter((row) => executorOf(row) !== "host");
    const isCommand = (row: ActionRow) => executorOf(row) === "claimer";
    // Commands come last: their effects are compared with the recovered files.
    for (const row of left.filter((one) => !isCommand(one))) {
      await recoverAction(this.#context, row);
    }
    for (const row of left.filter(isCommand)) await recoverAction(this.#context, row);
    for (const row of await listUnstarted(ledger)) await executeApproved(this.#context, row);
    await this.#deadlines.start();
  }

  /** Whether a call waits for its action. */
  get isWaiting(): boolean {
    return this.#waiters.isWaiting;
  }

  /** Takes over what other machines that share the ledger have committed. Returns at once. */
  hear(events: readonly AuditEvent[]): void {
    this.#others.hear(events);
  }

  /** Looks at the guarded files if a command runs: an agent makes contact, begins or ends. */
  async contact(): Promise<void> {
    await lookAgain(this.#services);
  }

  /** Ends all present and future waits. */
  letGo(): void {
    this.#waiters.close();
  }

  /** Stops timers, waits and running changes of files. The ledger closes after it. */
  async close(): Promise<void> {
    this.#deadlines.close();
    this.#waiters.close();
    await this.#context.serial.run(() => Promise.resolve());
  }

  /** Submits a tool call and waits up to `wait_ms` for a person and for the result. */
  async submit(input: SubmitInput, caller: Caller): Promise<Submitted> {
    await this.contact();
    const submission = await submit(this.#context, input, caller);
    return await this.#settled(submission, input.wait_ms ?? 0);
  }

  /** Waits until the agent gets its answer, by default at most 45 s. */
  async wait(id: string, input: WaitInput, _caller: Caller): Promise<Submitted> {
    const row = await loadAction(this.#services, id);
    return await this.#settled({ row, image: null }, input.timeout_ms ?? DEFAULT_WAIT_MS);
  }

  /**
   * Submits a call of a host's own tool and waits up to `wait_ms` for a person, or until its caller
   * has `gone`. With the execution `running` the host may execute it. Returns null for a quiet tool
   * without a rule.
   */
  async submitNative(
    call: NativeCall,
    { session, wait_ms, gone }: { session: ActionSession; wait_ms: number; gone?: AbortSignal },
    caller: Caller,
  ): Promise<Action | null> {
    const { guarding, sessions } = this.#services;
    const isWatching = guarding.isWatching;
    await this.contact();
    // The comparison of the guarded files may have blocked the session.
    const now = isWatching ? await sessions.withBlock(session) : session;
    const submission = await submitNative(this.#context, now, call, caller);
    if (!submission) return null;
    const { row, is_own } = submission;
    // This call has started. A row that is not its own was started by an equal call.
    if (is_own && row.status !== "pending") return publicOf(row);
    const isDecided = ({ status }: ActionRow) => status !== "pending";
    const decided = await this.#until(row, wait_ms, isDecided, gone);
    // Nobody would execute it. The approval stays for the next equal call.
    if (decided.status !== "approved" || gone?.aborted) return publicOf(decided);
    return publicOf(await claimNative(this.#context, decided, call.key, caller));
  }

  /** Records a host's report on a call of its own tool; null if no such call is running. */
  async reportNative(
    call: NativeCallId,
    report: { outcome: NativeOutcome; is_bare: (id: string) => boolean },
    caller: Caller,
  ): Promise<Action | null> {
    requireNotViewer(caller, "report a result");
    const row = await reportNative(this.#services, call, report, caller);
    return row && publicOf(row);
  }

  /** Whether a host's command that has started is to run in the sandbox. */
  async belongsBehind(id: string): Promise<boolean> {
    return await belongsBehind(this.#services, id);
  }

  /** Starts a host's command in the sandbox. @throws GateError `conflict` if it must not run there */
  async startWalled(id: string, pid: number): Promise<WalledRun> {
    await this.#requireHere(id, "start the command");
    return await startWalled(this.#services, id, pid);
  }

  /** Records the end of a host's command in the sandbox. Returns the walls that it met. */
  async endWalled(id: string, end: Parameters<typeof endWalled>[2]): Promise<string[]> {
    return await endWalled(this.#context, id, end);
  }

  async claim(id: string, input: ClaimInput, caller: Caller): Promise<Claim> {
    await this.#requireHere(id, "claim the action");
    return await claim(this.#context, id, input, caller);
  }

  async result(id: string, input: ResultInput, caller: Caller): Promise<Action> {
    await this.#requireHere(id, "report a result");
    return publicOf(await report(this.#context, id, input, caller));
  }

  async cancel(id: string, input: CancelInput, caller: Caller): Promise<Action> {
    return publicOf(await cancel(this.#context, id, input, caller));
  }

  async approve(id: string, input: ApproveInput, caller: Caller): Promise<Approved> {
    const { remember, permit, open, base_sha256 } = input;
    // A plain approval is recorded here, also while the machine of the agent is away.
    const isPlain = [remember, permit, open, base_sha256].every((one) => one === undefined);
    if (!isPlain) {
      requireReviewer(caller, "approve the action", "gate approve");
      const request = { verb: "approve", id, input, caller } as const;
      const passed = await this.#pass(
        "approve the action with these options",
        request,
        Approved.refine(isAbout(id)),
      );
      if (passed) return passed.body;
    }
    return await this.#approved(await approve(this.#context, id, input, caller));
  }

  async reject(id: string, input: RejectInput, caller: Caller): Promise<Action> {
    return publicOf(await reject(this.#context, id, input, caller));
  }

  /**
   * Rejects several held actions: these, those of a session, or all of the project. An action that
   * is no longer held is skipped. @throws GateError `forbidden`
   */
  async rejectAll(
    { action_ids, session_id, reason }: RejectAllInput,
    caller: Caller,
  ): Promise<RejectAllResult> {
    requireReviewer(caller, "reject the actions", "gate reject");
    const { ledger } = this.#services;
    const ids = action_ids ?? await listHeld(ledger, session_id);
    const rejected: Action[] = [];
    const skipped: RejectAllResult["skipped"] = [];
    for (const id of new Set(ids)) {
      try {
        rejected.push(await this.reject(id, { reason }, caller));
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        skipped.push({ action_id: id, why: error.message });
      }
    }
    return { rejected, skipped };
  }

  /** Cancels what a session still holds, because it has ended. */
  async cancelHeld(session_id: string, caller: Caller): Promise<void> {
    for (const id of await listHeld(this.#services.ledger, session_id)) {
      // A decision may come first.
      await this.cancel(id, { reason: "Its session has ended" }, caller).catch((error) => {
        if (!(error instanceof GateError) || error.code !== "conflict") throw error;
      });
    }
  }

  async approveWithEdit(
    id: string,
    input: ApproveWithEditInput,
    caller: Caller,
  ): Promise<Approved> {
    requireReviewer(caller, "approve the action", "gate approve");
    const request = { verb: "approve_with_edit", id, input, caller } as const;
    const passed = await this.#pass("edit the action", request, Approved.refine(isAbout(id)));
    if (passed) return passed.body;
    return await this.#approved(await approveWithEdit(this.#context, id, input, caller));
  }

  async rollback(id: string, input: RollbackInput, caller: Caller): Promise<RollbackResult> {
    requireReviewer(caller, "roll back the action", "gate rollback");
    const request = { verb: "rollback", id, input, caller } as const;
    const answer = RollbackResult.refine(({ action }) => isAbout(id)(action));
    const passed = await this.#pass("roll back the action", request, answer);
    if (passed) return passed.body;
    const { session_id } = await loadAction(this.#services, id);
    await recoverSession(this.#services, session_id);
    return await rollback(this.#context, id, input, caller);
  }

  /**
   * Rolls back several actions of a session in one turn: no other change of files runs meanwhile.
   * @throws GateError `forbidden`
   */
  async rollbackTogether<T>(
    session_id: string,
    caller: Caller,
    run: (context: ActionContext) => Promise<T>,
  ): Promise<T> {
    requireReviewer(caller, "roll back the session", "gate session rollback");
    await recoverSession(this.#services, session_id);
    return await this.#context.serial.run(() => run(this.#context));
  }

  /** Passes a request about a session of another machine to that one. Null for one of this machine. */
  async passSession<T>(
    request: Request & { caller: Caller },
    schema: z.ZodType<T>,
  ): Promise<{ body: T } | null> {
    requireReviewer(request.caller, "roll back the session", "gate session rollback");
    const { ledger } = this.#services;
    return await passElsewhere(ledger, request.id, "roll back the session", request, schema);
  }

  async replay(id: string, caller: Caller, input: ReplayInput = {}): Promise<Submitted> {
    requireReviewer(caller, "replay the action", null);
    const request = { verb: "replay", id, input, caller } as const;
    const passed = await this.#pass("replay the action", request, PassedReplay);
    if (passed) return passed.body;
    return await this.#submitted(await replay(this.#context, id, input, caller));
  }

  /** Expires, reminds and escalates what is due. A timer does this too. */
  async expireDue(): Promise<void> {
    await this.#deadlines.expireDue();
  }

  /** The held actions with an approval route: who answered, who is still asked, until when. */
  async listRouted(): Promise<RoutedApproval[]> {
    return await listApprovals(this.#services);
  }

  /** The ids of the people who may decide on a routed action now; empty without a route. */
  async listAsked(id: string): Promise<string[]> {
    const approvals = await describeApprovals(this.#services, await loadAction(this.#services, id));
    return approvals?.asked.map((one) => one.id) ?? [];
  }

  /** The escalations of held actions. */
  async listEscalations(): Promise<Escalation[]> {
    return await listEscalations(this.#services);
  }

  async get(id: string): Promise<Action> {
    return publicOf(await loadAction(this.#services, id));
  }

  async detail(id: string): Promise<ActionDetail> {
    return await detailOf(this.#services, id);
  }

  async image(id: string, sha256: string): Promise<ShownImage> {
    return await imageOf(this.#services, id, sha256);
  }

  async status(id: string): Promise<ActionStatusView> {
    const row = await loadAction(this.#services, id);
    const { status, execution, decided_by, reason } = row;
    const approvals = await countApprovals(this.#services, row);
    return { id, status, execution, decided_by, reason, approvals };
  }

  async list(query: ActionQuery): Promise<ActionList> {
    const { ledger } = this.#services;
    return await listActions(ledger, query, query.limit ?? DEFAULT_LIMIT);
  }

  /** Passes a request about an action of another machine to that one. Null for one of this machine. */
  async #pass<T>(
    attempt: string,
    request: Request,
    schema: z.ZodType<T>,
  ): Promise<{ body: T } | null> {
    const { ledger } = this.#services;
    if (ledger.machine === null) return null;
    const { session_id } = await loadAction(this.#services, request.id);
    return await passElsewhere(ledger, session_id, attempt, request, schema);
  }

  async #requireHere(id: string, attempt: string): Promise<void> {
    const { ledger } = this.#services;
    if (ledger.machine === null) return;
    await requireHere(ledger, (await loadAction(this.#services, id)).session_id, attempt);
  }

  async #approved(row: ActionRow): Promise<Approved> {
    if (row.status !== "pending") return publicOf(row);
    return { ...publicOf(row), approvals: await countApprovals(this.#services, row) };
  }

  async #settled({ row, image }: Submission, timeout_ms: number): Promise<Submitted> {
    if (isSettled(row) || timeout_ms === 0) return await this.#submitted({ row, image });
    const settled = await this.#until(row, timeout_ms, isSettled);
    return await this.#submitted({ row: settled, image: null });
  }

  async #until(
    row: ActionRow,
    timeout_ms: number,
    isFound: (row: ActionRow) => boolean,
    gone?: AbortSignal,
  ): Promise<ActionRow> {
    if (isFound(row) || timeout_ms === 0) return row;
    const look = async () => {
      const value = await loadAction(this.#services, row.id);
      return { found: isFound(value), value };
    };
    return await this.#waiters.until(row.id, timeout_ms, look, gone);
  }

  async #submitted({ row, image }: Submission): Promise<Submitted> {
    return { action: publicOf(row), result: await resultOf(this.#services, row, image) };
  }

  /** Recovers an abandoned execution. An execution of this process goes on. */
  async #recover(row: ActionRow): Promise<void> {
    if (await refuseForged(this.#services, row)) return;
    if (executorOf(row) === "host") await recoverNative(this.#services, row);
    else if (!this.#context.running.has(row.id)) await recoverAction(this.#context, row);
  }
}

function isAbout(id: string) {
  return (action: { id: string }): boolean => action.id === id;
}

/** A \`Submitted\` of another machine. */
const PassedReplay: z.ZodType<Submitted> = z.object({
  action: Action,
  result: z.record(z.string(), z.unknown()).nullable(),
});
