import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import type { Session, SessionDiff, SessionRollbackResult } from "../../server/sessions/schema.ts";
import { api, unwrap } from "../state/client.ts";
import { type Preview, previewOf, whyNotUndo } from "../rollback/rollback.ts";
import { toolOf } from "../../server/actions/tools.ts";

/** A session with what it asked for, oldest first, and what that did to the files. */
export interface SessionRecord {
  session: Session;
  actions: Action[];
  /** There are older ones than these. */
  isCut: boolean;
  diff: SessionDiff;
}

const MOST_ACTIONS = 500;
const UNDONE = { none: "", partial: ", partly rolled back", full: ", rolled back" } as const;

/** Whether it goes on, and what of it is undone, in words. */
export function stateOf({ ended_at, rollback_state }: Session): string {
  return `${ended_at === null ? "open" : "ended"}${UNDONE[rollback_state]}`;
}

/** Reads a session whole. @throws ProblemError */
export async function loadSession(id: string, project: string | null): Promise<SessionRecord> {
  const { ":id": one } = api(project ?? undefined).api.sessions;
  const param = { id };
  const [session, diff, page] = await Promise.all([
    unwrap<Session>(one.$get({ param })),
    unwrap<SessionDiff>(one.diff.$get({ param })),
    unwrap<{ items: Action[]; next_cursor: string | null }>(
      one.actions.$get({ param, query: { limit: String(MOST_ACTIONS) } }),
    ),
  ]);
  return { session, diff, actions: page.items.toReversed(), isCut: page.next_cursor !== null };
}

/** What can be rolled back from one action on, or of all: the actions, oldest first. */
export function undoable(actions: readonly Action[], from: string | null): Action[] {
  const at = from === null ? 0 : actions.findIndex(({ id }) => id === from);
  return at < 0 ? [] : actions.slice(at)
    .filter((action) => !toolOf(action.tool).undoes && whyNotUndo(action) === null);
}

/** The undoing of a session or of its end: first tried dry, then done. */
export class SessionUndo {
  readonly preview = signal<Preview<SessionRollbackResult> | null>(null);
  readonly open = signal(false);
  readonly busy = signal(false);
  /** The action from which on everything is undone; null is all of it. */
  #from: string | null = null;
  /** What could be undone when it was looked at: an agent may go on meanwhile. */
  #ids: string[] = [];

  /** Asks what would change, without changing it. */
  async look(record: SessionRecord, from: string | null): Promise<void> {
    this.#from = from;
    this.#ids = idsOf(record, from);
    this.open.value = true;
    this.preview.value = null;
    try {
      this.preview.value = { kind: "plan", result: await this.#call(record, { dry_run: true }) };
    } catch (error) {
      this.preview.value = previewOf(error);
    }
  }

  /**
   * Does it, as it was looked at; the result, or null where nothing was touched: where something has
   * come since, that is shown first.
   */
  async run(
    record: SessionRecord,
    on_conflict?: "merge" | "force",
  ): Promise<SessionRollbackResult | null> {
    if (this.busy.value) return null;
    if (idsOf(record, this.#from).join() !== this.#ids.join()) {
      await this.look(record, this.#from);
      return null;
    }
    this.busy.value = true;
    try {
      const result = await this.#call(record, on_conflict ? { on_conflict } : {});
      this.open.value = false;
      return result;
    } catch (error) {
      this.preview.value = previewOf(error);
      return null;
    } finally {
      this.busy.value = false;
    }
  }

  /** What would change is on the screen, and nothing stands against it. */
  isPlanned(): boolean {
    const preview = this.preview.value;
    return this.open.value && preview?.kind === "plan" && preview.result.actions.length > 0;
  }

  close(): void {
    this.open.value = false;
  }

  #call(
    { session }: SessionRecord,
    how: { dry_run?: boolean; on_conflict?: "merge" | "force" },
  ): Promise<SessionRollbackResult> {
    const { ":id": one } = api(session.project_id).api.sessions;
    const param = { id: session.id };
    if (this.#from === null) return unwrap(one.rollback.$post({ param, json: how }));
    const json = { ...how, action_ids: this.#ids };
    return unwrap(one["rollback-partial"].$post({ param, json }));
  }
}

function idsOf({ actions }: SessionRecord, from: string | null): string[] {
  return undoable(actions, from).map(({ id }) => id);
}
