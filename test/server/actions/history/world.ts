import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Action } from "../../../../server/actions/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../../helpers.ts";
import { type Change, Model, type Modelled, type State } from "./model.ts";
import { PATHS, type StepOf, TIMEOUT_S } from "./steps.ts";

export const agents = [testCaller("agent", "codex"), testCaller("agent", "claude")];
export const reviewer = testCaller("reviewer");
export const REFUSED = { code: expect.stringMatching(/^(conflict|invalid)$/) };

/** A gate and a model of it. */
export class World {
  gate!: TestGate;
  model = new Model();
  readonly sessions: string[] = [];

  static async open(fault: () => void): Promise<World> {
    const world = new World();
    world.gate = await createTestGate({
      policies: {
        defaultEffect: "allow",
        askPaths: ["held/**"],
        approvalTimeoutSeconds: TIMEOUT_S,
        commandTimeoutSeconds: 86_400,
      },
      fault,
    });
    for (const agent of agents) {
      world.sessions.push((await world.gate.project.sessions.open({}, agent)).id);
    }
    for (const folder of ["free/new", "held"]) world.gate.write(`${folder}/stays`, "");
    for (const path of PATHS.slice(0, -1)) world.byHand(path, `old ${path}\n`);
    return world;
  }

  get now(): number {
    return this.gate.clock.now;
  }

  /** Expects the gate's actions, files and sessions to equal the model's. */
  async compare(): Promise<void> {
    const { actions, audit } = this.gate.project;
    this.model.expire(this.now);
    await actions.expireDue();
    const events = await this.gate.audit();
    for (const { id, status, execution, changes, tool } of this.model.actions) {
      const found = await actions.get(id);
      expect({ id, tool, status: found.status, execution: found.execution })
        .toEqual({ id, tool, status, execution });
      if (tool === "run_command" && !["none", "running"].includes(execution)) {
        expect([id, found.reversible]).toEqual([id, changes.length > 0]);
      }
      const own = events.filter(({ action_id }) => action_id === id).map(({ type }) => type);
      const decided = own.filter((type) => /approved|rejected|cancelled|expired/.test(type));
      expect(decided.length).toBeLessThanOrEqual(1);
    }
    this.compareFiles();
    expect(await audit.verify()).toMatchObject({ ok: true });
    for (const [at, id] of this.sessions.entries()) {
      const own = this.model.actions.filter(({ session, tool, execution, changes, command }) =>
        session === at && tool !== "rollback" && changes.length > 0 &&
        (execution === "succeeded" || (command !== null && /failed|unknown/.test(execution)))
      );
      const undone = own.filter(({ status }) => status === "rolled_back").length;
      const { rollback_state } = await this.gate.project.sessions.get(id);
      expect(rollback_state)
        .toBe(undone === 0 ? "none" : undone < own.length ? "partial" : "full");
    }
  }

  compareFiles(): void {
    for (const path of PATHS) {
      expect([path, this.onDisk(path)]).toEqual([path, this.model.at(path)]);
    }
  }

  async enter(
    session: number,
    asked: { tool: string; input: Record<string, unknown>; changes: Change[] | null },
  ): Promise<void> {
    const { tool, input, changes } = asked;
    const answer = this.gate.project.actions.submit(
      { tool, input, session_id: this.sessions[session]! },
      agents[session]!,
    );
    if (!changes) return await expect(answer).rejects.toMatchObject(REFUSED);
    this.entered((await answer).action, { session, tool, input, changes, command: null });
  }

  entered(
    answer: Action,
    what: Pick<Modelled, "session" | "tool" | "input" | "changes" | "command">,
  ): void {
    const touched = what.command ?? what.changes.map(({ path }) => path).join(" ");
    const isHeld = touched.includes("held/");
    const twin = isHeld ? this.model.twin(what, this.now) : undefined;
    if (twin) return expect(answer.id).toBe(twin.id);
    expect(this.model.find(answer.id)).toBeUndefined();
    const isDone = !isHeld && what.command === null;
    this.model.actions.push({
      ...what,
      id: answer.id,
      of: null,
      created_at: this.now,
      claim: null,
      status: isHeld ? "pending" : "approved",
      execution: isDone ? "succeeded" : "none",
      byPolicy: !isHeld,
      done_at: isDone ? this.model.tick() : 0,
    });
    if (isDone) this.model.apply(what.changes);
  }

  /** The expected changes; null when the gate must refuse the action. */
  planOf(one: StepOf<"write" | "edit" | "delete" | "move">, before: State): Change[] | null {
    const { path } = one;
    if (one.do === "write") return [{ path, before, after: one.content }];
    if (before === null || (one.do === "edit" && before === "")) return null;
    if (one.do === "edit") return [{ path, before, after: one.content }];
    if (one.do === "delete") return [{ path, before, after: null }];
    if (one.to === path || this.model.at(one.to) !== null) return null;
    return [{ path: one.to, before: null, after: before }, { path, before, after: null }];
  }

  byHand(path: string, content: State): void {
    this.model.files.set(path, content);
    if (content === null) rmSync(join(this.gate.root, path), { force: true });
    else this.gate.write(path, content);
  }

  /** Picks an action that fits in most cases, and any action in the others. */
  pick(which: number, works: (action: Modelled) => boolean): Modelled | undefined {
    const { actions } = this.model;
    const fit = actions.filter(works);
    const among = fit.length > 0 && which % 5 !== 0 ? fit : actions;
    return among[Math.floor(which / 5) % (among.length || 1)];
  }

  onDisk(path: string): State {
    const whole = join(this.gate.root, path);
    return existsSync(whole) ? readFileSync(whole, "utf8") : null;
  }
}
