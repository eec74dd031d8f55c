import type { Action } from "../../../../server/actions/schema.ts";
import { TIMEOUT_S } from "./steps.ts";

export type State = string | null;

export interface Change {
  path: string;
  before: State;
  after: State;
}

/** The expected state of one action. */
export interface Modelled {
  id: string;
  tool: string;
  session: number;
  changes: Change[];
  command: string | null;
  /** The input of an edit, a deletion or a move, for a replay. */
  input: Record<string, unknown>;
  status: Action["status"];
  execution: Action["execution"];
  byPolicy: boolean;
  of: string | null;
  created_at: number;
  /** The position in the order of execution; 0 before it. */
  done_at: number;
  claim: { id: string; files: Map<string, State>; at: number; exit_code: number } | null;
}

/** The simplest model of the files and the actions. */
export class Model {
  files = new Map<string, State>();
  actions: Modelled[] = [];
  #count = 0;

  clone(): Model {
    const copy = new Model();
    copy.files = new Map(this.files);
    copy.actions = structuredClone(this.actions);
    copy.#count = this.#count;
    return copy;
  }

  at(path: string): State {
    return this.files.get(path) ?? null;
  }

  find(id: string | null): Modelled | undefined {
    return this.actions.find((action) => action.id === id);
  }

  tick(): number {
    return ++this.#count;
  }

  apply(changes: readonly Change[]): void {
    for (const { path, after } of changes) this.files.set(path, after);
  }

  finish(action: Modelled, execution: Action["execution"]): void {
    action.execution = execution;
    action.done_at = this.tick();
  }

  expire(now: number): void {
    for (const action of this.actions) {
      const isDue = action.created_at + TIMEOUT_S * 1000 <= now;
      if (action.status === "pending" && isDue) action.status = "expired";
    }
  }

  /** The open action that a submission attaches to. */
  twin(of: Pick<Modelled, "session" | "tool" | "command" | "changes">, now: number) {
    return this.actions.find((one) =>
      (one.status === "pending" ||
        (one.status === "approved" && one.execution === "none" && !one.byPolicy)) &&
      one.session === of.session && one.tool === of.tool && one.command === of.command &&
      JSON.stringify(one.changes) === JSON.stringify(of.changes) && now - one.created_at <= 600_000
    );
  }

  /** Whether the files still have the content that the action was planned on. */
  isBase(changes: readonly Change[]): boolean {
    return changes.every(({ path, before }) => this.at(path) === before);
  }

  isUndoable({ tool, status, execution, changes }: Modelled): boolean {
    const over = tool === "run_command" ? ["succeeded", "failed", "unknown"] : ["succeeded"];
    return status === "approved" && over.includes(execution) && changes.length > 0;
  }

  /** The expected changes of its rollback, in order; null if a file has another content now. */
  undo({ changes }: Modelled, files = this.files): Change[] | null {
    const back: Change[] = [];
    for (const { path, before, after } of changes.toReversed()) {
      const now = files.get(path) ?? null;
      if (now === before) continue;
      if (now !== after) return null;
      back.push({ path, before: now, after: before });
    }
    return back;
  }

  /** Marks the chain behind an action that has been undone. */
  markUndone(action: Modelled): void {
    let undone = true;
    for (let at: Modelled | undefined = action; at; at = this.find(at.of)) {
      at.status = undone ? "rolled_back" : "approved";
      undone = !undone;
    }
  }

  /** Later actions on one of its files depend on it, unless they are rolled back. */
  isNeeded(chosen: readonly Modelled[]): boolean {
    const oldest = new Map<string, Modelled>();
    for (const action of chosen) {
      for (const { path } of action.changes) oldest.set(path, action);
    }
    return [...oldest].some(([path, { done_at }]) =>
      this.actions.some((other) =>
        other.tool !== "rollback" && !chosen.includes(other) && other.done_at > done_at &&
        this.isUndoable(other) && other.changes.some((change) => change.path === path)
      )
    );
  }

  /** The changes of a rollback of all of them, newest first; null when the gate must refuse it. */
  undoAll(chosen: readonly Modelled[]): Map<string, Change[]> | null {
    const isOpen = chosen.every((action) => this.isUndoable(action));
    if (!isOpen || this.isNeeded(chosen)) return null;
    const files = new Map(this.files);
    const plans = new Map<string, Change[]>();
    for (const action of chosen) {
      const back = this.undo(action, files);
      if (!back) return null;
      for (const { path, after } of back) files.set(path, after);
      plans.set(action.id, back);
    }
    return plans;
  }
}
