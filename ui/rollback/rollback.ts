import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import type { Problem } from "../../server/client.ts";
import { explain, ProblemError } from "../state/client.ts";

/** The answer to a dry run: the changes, a conflict, or another problem. */
type Preview<Result> =
  | { kind: "plan"; result: Result }
  | { kind: "conflict"; problem: Problem }
  | { kind: "problem"; text: string };

/** How a rollback treats files that changed later. */
export type OnConflict = "merge" | "force";

/** One rollback, ready to send. */
interface RollbackRequest<Result> {
  /** Names the actions. When it differs from the previewed one, the preview is shown again. */
  key: string;
  send(options: { dry_run?: boolean; on_conflict?: OnConflict }): Promise<Result>;
}

/** Rolls back an action or a session: a dry run that a person looks at, then the rollback. */
export class Rollback<Input, Result> {
  readonly preview = signal<Preview<Result> | null>(null);
  readonly open = signal(false);
  readonly busy = signal(false);
  readonly #request: (input: Input) => RollbackRequest<Result>;
  readonly #isEmpty: (result: Result) => boolean;
  #previewed = "";

  constructor(
    request: (input: Input) => RollbackRequest<Result>,
    isEmpty: (result: Result) => boolean = () => false,
  ) {
    this.#request = request;
    this.#isEmpty = isEmpty;
  }

  /** Opens the preview; changes no file. */
  async look(input: Input): Promise<void> {
    const { key, send } = this.#request(input);
    this.#previewed = key;
    this.open.value = true;
    this.preview.value = null;
    try {
      this.preview.value = { kind: "plan", result: await send({ dry_run: true }) };
    } catch (error) {
      this.preview.value = failureOf(error);
    }
  }

  /** Rolls back as previewed; null when no file was touched. */
  async run(input: Input, on_conflict?: OnConflict): Promise<Result | null> {
    if (this.busy.value) return null;
    const { key, send } = this.#request(input);
    if (key !== this.#previewed) {
      await this.look(input);
      return null;
    }
    this.busy.value = true;
    try {
      const result = await send(on_conflict ? { on_conflict } : {});
      this.open.value = false;
      return result;
    } catch (error) {
      this.preview.value = failureOf(error);
      return null;
    } finally {
      this.busy.value = false;
    }
  }

  /** True while the preview is open and shows changes without a conflict. */
  isReady(): boolean {
    const preview = this.preview.value;
    return this.open.value && preview?.kind === "plan" && !this.#isEmpty(preview.result);
  }

  close(): void {
    this.open.value = false;
  }
}

function failureOf(error: unknown): Exclude<Preview<never>, { kind: "plan" }> {
  if (error instanceof ProblemError && error.problem.code === "conflict") {
    return { kind: "conflict", problem: error.problem };
  }
  return { kind: "problem", text: explain(error) };
}

/** Why this action cannot be rolled back; null when it can. */
export function whyNotRollback(
  { status, execution, command, reversible }: Pick<
    Action,
    "status" | "execution" | "command" | "reversible"
  >,
): string | null {
  if (status === "rolled_back") return "It is already rolled back";
  // A failed command may have changed files.
  const finished = command === null ? ["succeeded"] : ["succeeded", "failed", "unknown"];
  if (status !== "approved" || !finished.includes(execution)) return "It was not executed";
  if (reversible) return null;
  return command === null
    ? "The previous content was not kept"
    : "It changed no file whose previous content was kept";
}
