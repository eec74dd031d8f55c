import { signal } from "@preact/signals";
import type { Action, ActionDetail, RollbackResult } from "../../server/actions/schema.ts";
import type { Problem } from "../../server/client.ts";
import { api, explain, ProblemError, unwrap } from "../state/client.ts";
import { refresh } from "../state/live.ts";
import { toolOf } from "../../server/actions/tools.ts";

/** What a roll-back would do, or why it cannot be done just so. */
export type Preview<Result> =
  | { kind: "plan"; result: Result }
  | { kind: "conflict"; problem: Problem }
  | { kind: "problem"; text: string };

/** The undoing of one action: first tried dry, then done. */
export class Undo {
  readonly preview = signal<Preview<RollbackResult> | null>(null);
  readonly open = signal(false);
  readonly busy = signal(false);

  /** Asks what would change, without changing it. */
  async look(detail: ActionDetail): Promise<void> {
    this.open.value = true;
    this.preview.value = null;
    try {
      this.preview.value = { kind: "plan", result: await call(detail, { dry_run: true }) };
    } catch (error) {
      this.preview.value = previewOf(error);
    }
  }

  /** Does it; on a conflict nothing is touched unless `on_conflict` says how to go on. */
  async run(detail: ActionDetail, on_conflict?: "merge" | "force"): Promise<RollbackResult | null> {
    if (this.busy.value) return null;
    this.busy.value = true;
    try {
      const result = await call(detail, on_conflict ? { on_conflict } : {});
      this.open.value = false;
      return result;
    } catch (error) {
      this.preview.value = previewOf(error);
      return null;
    } finally {
      this.busy.value = false;
      await refresh(detail.id, detail.project_id);
    }
  }

  /** What would change is on the screen, and nothing stands against it. */
  isPlanned(): boolean {
    return this.open.value && this.preview.value?.kind === "plan";
  }

  close(): void {
    this.open.value = false;
  }
}

/** Why this action cannot be rolled back, or null when it can. */
export function whyNotUndo(
  detail: Pick<Action, "status" | "execution" | "command" | "reversible">,
): string | null {
  if (detail.status === "rolled_back") return "It is rolled back already";
  // A command that failed has changed files all the same.
  const done = detail.command === null ? ["succeeded"] : ["succeeded", "failed", "unknown"];
  if (detail.status !== "approved" || !done.includes(detail.execution)) {
    return "It was not carried out";
  }
  if (detail.reversible) return null;
  return detail.command === null
    ? "What was there before is not kept"
    : "It changed no file that is kept";
}

/** Whether what was undone can be asked for again. */
export function canReplay(detail: ActionDetail): boolean {
  return detail.status === "rolled_back" && detail.command === null &&
    !toolOf(detail.tool).undoes;
}

function call(detail: ActionDetail, json: { dry_run?: boolean; on_conflict?: "merge" | "force" }) {
  const { id, project_id } = detail;
  return unwrap<RollbackResult>(
    api(project_id).api.actions[":id"].rollback.$post({ param: { id }, json }),
  );
}

/** Why there is no plan: what stands against it, or what went wrong. */
export function previewOf(error: unknown): Exclude<Preview<never>, { kind: "plan" }> {
  if (error instanceof ProblemError && error.problem.code === "conflict") {
    return { kind: "conflict", problem: error.problem };
  }
  return { kind: "problem", text: explain(error) };
}
