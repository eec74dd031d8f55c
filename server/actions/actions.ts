import type { Caller } from "../auth/schema.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../context.ts";
import type { Ledger } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { Bus } from "../events/bus.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type {
  Action,
  ActionDetail,
  ActionList,
  ActionQuery,
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

/** What `submit` and `wait` answer: the action, and what the tool returned once it is done. */
export interface Submitted {
  action: Action;
  /** File content of `read_file`, output of `run_command`, the final text after an edit. */
  result: Record<string, unknown> | null;
}

/** What the actions of one project work with; made in `Project` and nowhere else. */
export interface ActionServices {
  project_id: string;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
  environment: Environment;
  ledger: Ledger;
  config: Config;
  sessions: Sessions;
  bus: Bus;
}

/** The main road of one project: each verb is here, and nothing happens but through here. */
export class Actions {
  constructor(_services: ActionServices) {}

  /** Settles what a crash left open: intents by looking at the files, commands as `unknown`. */
  recover(): Promise<void> {
    return Promise.resolve();
  }
  /** Stops timers and waits; called before the ledger is closed. */
  close(): Promise<void> {
    return Promise.resolve();
  }
  submit(_input: SubmitInput, _caller: Caller): Promise<Submitted> {
    throw new GateError("internal", "not built yet");
  }
  wait(_id: string, _input: WaitInput, _caller: Caller): Promise<Submitted> {
    throw new GateError("internal", "not built yet");
  }
  claim(_id: string, _input: ClaimInput, _caller: Caller): Promise<Claim> {
    throw new GateError("internal", "not built yet");
  }
  result(_id: string, _input: ResultInput, _caller: Caller): Promise<Action> {
    throw new GateError("internal", "not built yet");
  }
  cancel(_id: string, _input: CancelInput, _caller: Caller): Promise<Action> {
    throw new GateError("internal", "not built yet");
  }
  approve(_id: string, _input: ApproveInput, _caller: Caller): Promise<Action> {
    throw new GateError("internal", "not built yet");
  }
  reject(_id: string, _input: RejectInput, _caller: Caller): Promise<Action> {
    throw new GateError("internal", "not built yet");
  }
  approveWithEdit(_id: string, _input: ApproveWithEditInput, _caller: Caller): Promise<Action> {
    throw new GateError("internal", "not built yet");
  }
  rollback(_id: string, _input: RollbackInput, _caller: Caller): Promise<RollbackResult> {
    throw new GateError("internal", "not built yet");
  }
  replay(_id: string, _caller: Caller): Promise<Submitted> {
    throw new GateError("internal", "not built yet");
  }
  get(_id: string): Promise<Action> {
    throw new GateError("internal", "not built yet");
  }
  detail(_id: string): Promise<ActionDetail> {
    throw new GateError("internal", "not built yet");
  }
  status(_id: string): Promise<ActionStatusView> {
    throw new GateError("internal", "not built yet");
  }
  list(_query: ActionQuery): Promise<ActionList> {
    throw new GateError("internal", "not built yet");
  }
  countPending(): Promise<number> {
    throw new GateError("internal", "not built yet");
  }
}
