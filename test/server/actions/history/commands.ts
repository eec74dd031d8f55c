import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import type { Modelled } from "./model.ts";
import { PATHS } from "./steps.ts";
import { agents, REFUSED, type World } from "./world.ts";

/** Runs commands in bash and models the effects that the gate must find. */
export class Commands {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async submitCommand(session: number, command: string): Promise<void> {
    const answer = await this.#world.gate.project.actions.submit(
      { tool: "run_command", input: { command }, session_id: this.#world.sessions[session]! },
      agents[session]!,
    );
    const what = { session, tool: "run_command", input: { command }, changes: [], command };
    this.#world.entered(answer.action, what);
  }

  async runCommand(which: number): Promise<void> {
    const action = await this.claim(which);
    if (action) await this.reportOn(action);
  }

  /** Claims an approved command and runs it to its end. */
  async claim(which: number): Promise<Modelled | null> {
    const action = this.#world.pick(
      which,
      ({ command, status, execution }) =>
        command !== null && status === "approved" && execution === "none",
    );
    if (!action) return null;
    const answer = this.#world.gate.project.actions.claim(action.id, {}, agents[action.session]!);
    if (action.status !== "approved" || action.execution !== "none") {
      await expect(answer).rejects.toMatchObject(REFUSED);
      return null;
    }
    const files = new Map(this.#world.model.files);
    const id = (await answer).claim_id;
    const { status } = spawnSync("bash", ["-c", action.command!], { cwd: this.#world.gate.root });
    for (const path of PATHS) this.#world.model.files.set(path, this.#world.onDisk(path));
    action.execution = "running";
    action.claim = { id, files, at: this.#world.model.tick(), exit_code: status ?? 1 };
    return action;
  }

  async report(which: number): Promise<void> {
    const claimed = this.#world.model.actions.filter(({ claim }) => claim !== null);
    const action = claimed[which % (claimed.length || 1)];
    if (action) await this.reportOn(action);
  }

  async reportOn(action: Modelled): Promise<void> {
    const { id: claim_id, exit_code } = action.claim!;
    const result = { claim_id, exit_code, output: "", truncated: false, duration_ms: 1 };
    const answer = this.#world.gate.project.actions.result(
      action.id,
      result,
      agents[action.session]!,
    );
    if (action.execution !== "running" && action.execution !== "unknown") {
      return await expect(answer).rejects.toMatchObject(REFUSED);
    }
    await answer;
    this.look(action);
    this.#world.model.finish(action, exit_code === 0 ? "succeeded" : "failed");
  }

  /** The effects of a command: its possible changes without those that another action made. */
  look(action: Modelled): void {
    if (action.status !== "approved") return;
    const { files, at } = action.claim!;
    const others = this.#world.model.actions.filter((other) =>
      other !== action && other.done_at > at
    );
    const foreign = new Set(
      others.filter(({ command, execution }) =>
        execution === "succeeded" || (command !== null && /failed|unknown/.test(execution))
      )
        .flatMap(({ changes }) => changes.map(({ path }) => path)),
    );
    action.changes = PATHS.filter((path) => mayChange(action.command!, path)).flatMap((path) => {
      const [before, after] = [files.get(path) ?? null, this.#world.model.at(path)];
      return before === after || foreign.has(path) ? [] : [{ path, before, after }];
    });
  }

  /** A restart makes a running command unknown and records its changes so far. */
  afterRestart(): void {
    for (const action of this.#world.model.actions) {
      if (action.execution !== "running") continue;
      this.look(action);
      this.#world.model.finish(action, "unknown");
    }
  }
}

/** Whether the command names the path other than as the source of a copy. */
function mayChange(command: string, path: string): boolean {
  return command.replace(/^cp \S+/, "").includes(path);
}
