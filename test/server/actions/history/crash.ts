import { cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Model } from "./model.ts";
import type { World } from "./world.ts";

/** A crash at one step of the gate: what it left then is what it starts from again. */
export class Crash {
  #world!: World;
  /** Steps of the gate until it crashes; what it left then is kept beside it. */
  #fuse = Infinity;
  #left: string | null = null;

  on(world: World): this {
    this.#world = world;
    return this;
  }

  /** Lays the fuse; the crash comes when so many steps are done, or never. */
  arm(steps: number): void {
    this.#fuse = steps;
  }

  get hasHappened(): boolean {
    return this.#left !== null;
  }

  /** Keeps what a crash at this moment would leave. */
  burn(): void {
    if (--this.#fuse !== 0) return;
    this.#left = join(dirname(this.#world.gate.root), "left");
    for (const name of ["home", "project"]) {
      cpSync(join(dirname(this.#world.gate.root), name), join(this.#left, name), {
        recursive: true,
      });
    }
  }

  /** Goes back to that moment, starts again, and looks what the gate made of it. */
  async crash(before: Model): Promise<void> {
    const left = this.#left!;
    this.#left = null;
    await this.#world.gate.reopen(() => {
      for (const name of ["home", "project"]) {
        const folder = join(dirname(left), name);
        rmSync(folder, { recursive: true, force: true });
        cpSync(join(left, name), folder, { recursive: true });
      }
      rmSync(left, { recursive: true, force: true });
    });
    const meant = this.#world.model;
    this.#world.model = before;
    await this.reconcile(meant);
    this.#world.compareFiles();
  }

  /** Each part of what was under way is done or not done, and its files say the same. */
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
