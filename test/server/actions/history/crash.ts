import { cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Model } from "./model.ts";
import type { World } from "./world.ts";

/** Simulates a crash: copies all files at one step of the gate and restarts the gate from the copy. */
export class Crash {
  #world!: World;
  /** The number of steps until the crash. */
  #stepsLeft = Infinity;
  /** The folder that holds the copy. */
  #copy: string | null = null;

  on(world: World): this {
    this.#world = world;
    return this;
  }

  /** Sets the crash after so many steps; `Infinity` for never. */
  arm(steps: number): void {
    this.#stepsLeft = steps;
  }

  get hasHappened(): boolean {
    return this.#copy !== null;
  }

  /** Counts one step; at the last one it copies the files. */
  countStep(): void {
    if (--this.#stepsLeft !== 0) return;
    this.#copy = join(dirname(this.#world.gate.root), "copy");
    for (const name of ["home", "project"]) {
      cpSync(join(dirname(this.#world.gate.root), name), join(this.#copy, name), {
        recursive: true,
      });
    }
  }

  /** Restarts the gate from the copy and compares what it recovered with the model. */
  async crash(before: Model): Promise<void> {
    const copy = this.#copy!;
    this.#copy = null;
    await this.#world.gate.reopen(() => {
      for (const name of ["home", "project"]) {
        const folder = join(dirname(copy), name);
        rmSync(folder, { recursive: true, force: true });
        cpSync(join(copy, name), folder, { recursive: true });
      }
      rmSync(copy, { recursive: true, force: true });
    });
    const meant = this.#world.model;
    this.#world.model = before;
    await this.reconcile(meant);
    this.#world.compareFiles();
  }

  /** Each action of the interrupted step is done or not done; the model adopts the gate's answer. */
  async reconcile(meant: Model): Promise<void> {
    const { actions } = this.#world.gate.project;
    for (const action of meant.actions) {
      const was = this.#world.model.find(action.id);
      if (was && was.execution === action.execution && was.status === action.status) continue;
      const found = await actions.get(action.id).catch(() => null);
      if (!found) {
        expect(was).toBeUndefined();
        continue;
      }
      // The rollback has the event of a rolled-back action. Without a rollback the action has it.
      const rollback = meant.actions.find(({ of }) => of === action.id);
      if (was && action.status === "rolled_back" && was.status === "approved") {
        if (!rollback) was.status = found.status;
        continue;
      }
      if (was && was.status !== "pending") continue;
      const own = was ?? structuredClone(action);
      if (!was) this.#world.model.actions.push(own);
      Object.assign(own, { changes: structuredClone(action.changes), status: found.status });
      expect(["none", "succeeded", "failed"]).toContain(found.execution);
      own.execution = found.execution;
      own.done_at = 0;
      if (found.execution === "none") continue;
      own.done_at = this.#world.model.tick();
      if (found.execution === "failed") continue;
      this.#world.model.apply(own.changes);
      const undone = this.#world.model.find(own.of);
      if (undone) this.#world.model.markUndone(undone);
    }
  }
}
