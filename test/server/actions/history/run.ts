import { expect } from "vitest";
import { Commands } from "./commands.ts";
import { Crash } from "./crash.ts";
import type { State } from "./model.ts";
import { Rollbacks } from "./rollbacks.ts";
import { type Step, type StepOf, textOf } from "./steps.ts";
import { agents, REFUSED, reviewer, World } from "./world.ts";

/** Applies each step of a history to a gate and to its model. */
export class Run {
  readonly #world: World;
  readonly #crash: Crash;
  readonly #commands: Commands;
  readonly #rollbacks: Rollbacks;

  private constructor(world: World, crash: Crash) {
    this.#world = world;
    this.#crash = crash.on(world);
    this.#commands = new Commands(world);
    this.#rollbacks = new Rollbacks(world);
  }

  static async open(): Promise<Run> {
    const crash = new Crash();
    return new Run(await World.open(() => crash.countStep()), crash);
  }

  close(): Promise<void> {
    return this.#world.gate.close();
  }

  /** Expects the gate's actions, files and sessions to equal the model's. */
  compare(): Promise<void> {
    return this.#world.compare();
  }

  async step(one: Step): Promise<void> {
    this.#world.model.expire(this.#world.now);
    if (one.crash_at === null) return await this.#do(one);
    const before = this.#world.model.clone();
    this.#crash.arm(one.crash_at);
    await this.#do(one);
    this.#crash.arm(Infinity);
    if (!this.#crash.hasHappened) return;
    await this.#crash.crash(before);
    this.#commands.afterRestart();
  }

  async #do(one: Step): Promise<void> {
    switch (one.do) {
      case "write":
      case "edit":
      case "delete":
      case "move":
        return await this.#submit(one);
      case "command":
        return await this.#commands.submitCommand(one.session, textOf(one.command));
      case "run":
        return await this.#commands.runCommand(one.which);
      case "claim":
        return void await this.#commands.claim(one.which);
      case "report":
        return await this.#commands.report(one.which);
      case "rollback":
        return await this.#rollbacks.rollback(one.which);
      case "rollback_session":
      case "rollback_part":
        return await this.#rollbacks.rollbackAll(one);
      case "replay":
        return await this.#rollbacks.replay(one.which);
      case "hand":
        return this.#world.byHand(one.path, one.content);
      case "later":
        return void this.#world.gate.clock.advance(one.ms);
      case "restart":
        return await this.#restart();
      default:
        return await this.#decide(one);
    }
  }

  async #submit(one: StepOf<"write" | "edit" | "delete" | "move">): Promise<void> {
    const now = this.#world.model.at(one.path);
    const planned = this.#world.planOf(one, now);
    const { tool, input } = inputOf(one, now);
    await this.#world.enter(one.session, { tool, input, changes: planned });
  }

  async #decide(
    one: StepOf<"approve" | "reject" | "cancel" | "approve_edited">,
  ): Promise<void> {
    const action = this.#world.pick(one.which, ({ status }) => status === "pending");
    if (!action) return;
    const { actions } = this.#world.gate.project;
    const { id } = action;
    const isEdit = one.do === "approve_edited";
    const answer = one.do === "approve"
      ? actions.approve(id, {}, reviewer)
      : one.do === "reject"
      ? actions.reject(id, {}, reviewer)
      : one.do === "cancel"
      ? actions.cancel(id, {}, agents[action.session]!)
      : actions.approveWithEdit(id, { content: one.content }, reviewer);
    const isText = action.tool === "write_file" || action.tool === "edit_file";
    const fits = one.do === "reject" || one.do === "cancel" ||
      ((!isEdit || isText) && this.#world.model.isBase(action.changes));
    if (action.status !== "pending" || !fits) {
      return await expect(answer).rejects.toMatchObject(REFUSED);
    }
    await answer;
    if (one.do === "reject") return void (action.status = "rejected");
    if (one.do === "cancel") return void (action.status = "cancelled");
    if (isEdit) action.changes[0]!.after = one.content;
    action.status = "approved";
    if (action.command !== null) return;
    this.#world.model.finish(action, "succeeded");
    this.#world.model.apply(action.changes);
  }

  async #restart(): Promise<void> {
    await this.#world.gate.reopen();
    this.#commands.afterRestart();
  }
}

function inputOf(one: StepOf<"write" | "edit" | "delete" | "move">, now: State) {
  const { path } = one;
  if (one.do === "write") return { tool: "write_file", input: { path, content: one.content } };
  if (one.do === "delete") return { tool: "delete_file", input: { path } };
  if (one.do === "move") return { tool: "move_file", input: { from: path, to: one.to } };
  const edits = [{ old_text: now || "nothing", new_text: one.content }];
  return { tool: "edit_file", input: { path, edits } };
}
