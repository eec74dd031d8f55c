import { expect } from "vitest";
import type { Change, Modelled } from "./model.ts";
import type { StepOf } from "./steps.ts";
import { REFUSED, reviewer, type World } from "./world.ts";
import { rollbackSession } from "../../../../server/sessions/rollback.ts";

/** Rolls back and replays, in the gate and in the model. */
export class Rollbacks {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async rollback(which: number): Promise<void> {
    const action = this.#world.pick(which, (one) => this.#world.model.isUndoable(one));
    if (!action) return;
    const answer = this.#world.gate.project.actions.rollback(action.id, {}, reviewer);
    const back = this.#world.model.isUndoable(action) ? this.#world.model.undo(action) : null;
    if (!back) return await expect(answer).rejects.toMatchObject(REFUSED);
    this.undone(action, back, (await answer).rollback?.id ?? null);
  }

  undone(action: Modelled, changes: Change[], id: string | null): void {
    if (changes.length === 0) {
      expect(id).toBeNull();
      return void (action.status = "rolled_back");
    }
    this.#world.model.actions.push({
      id: id!,
      tool: "rollback",
      session: action.session,
      changes,
      command: null,
      input: {},
      status: "approved",
      execution: "succeeded",
      byPolicy: false,
      of: action.id,
      created_at: this.#world.now,
      done_at: this.#world.model.tick(),
      claim: null,
    });
    this.#world.model.apply(changes);
    this.#world.model.markUndone(action);
  }

  async rollbackAll(one: StepOf<"rollback_session" | "rollback_part">): Promise<void> {
    const { project } = this.#world.gate;
    const own = this.#world.model.actions
      .filter(({ session, tool }) => session === one.session && tool !== "rollback")
      .filter(({ done_at }) => done_at > 0).sort((a, b) => b.done_at - a.done_at);
    const picked = one.do === "rollback_part"
      ? new Set(one.picks.map((pick) => own[pick % (own.length || 1)]))
      : new Set(own.filter((action) => this.#world.model.isUndoable(action)));
    const chosen = own.filter((action) => picked.has(action));
    if (one.do === "rollback_part" && chosen.length === 0) return;
    const action_ids = one.do === "rollback_part" ? chosen.map(({ id }) => id) : undefined;
    const name = this.#world.sessions[one.session]!;
    const answer = rollbackSession(project, name, action_ids ? { action_ids } : {}, reviewer);
    const plans = this.#world.model.undoAll(chosen);
    if (!plans) return await expect(answer).rejects.toMatchObject(REFUSED);
    const { actions: done } = await answer;
    expect(done.map(({ action_id }) => action_id)).toEqual(chosen.map(({ id }) => id));
    for (const [at, action] of chosen.entries()) {
      this.undone(action, plans.get(action.id)!, done[at]!.rollback_id);
    }
  }

  async replay(which: number): Promise<void> {
    const action = this.#world.pick(
      which,
      ({ status, tool }) => status === "rolled_back" && tool !== "rollback",
    );
    if (!action) return;
    const answer = this.#world.gate.project.actions.replay(action.id, reviewer);
    const again = action.status === "rolled_back" && action.tool !== "rollback"
      ? this.replayed(action)
      : null;
    if (!again) return await expect(answer).rejects.toMatchObject(REFUSED);
    this.#world.entered((await answer).action, { session: action.session, ...again });
  }

  replayed({ tool, changes, command, input }: Modelled) {
    if (command !== null) return { tool, command, input, changes: [] };
    const [change] = changes;
    const path = String(input["path"] ?? input["from"]);
    const one = tool === "delete_file"
      ? { do: "delete" as const }
      : tool === "move_file"
      ? { do: "move" as const, to: String(input["to"]) }
      : { do: "write" as const, content: change!.after! };
    const planned = this.#world.planOf(
      { ...one, path, session: 0, crash_at: null } as StepOf<"write">,
      this.#world.model.at(path),
    );
    const name = one.do === "write" ? "write_file" : tool;
    return planned && { tool: name, command, input, changes: planned };
  }
}
