import type { Caller } from "../auth/schema.ts";
import type { Database } from "../db/database.ts";
import type { ViewedFile, ViewedInput } from "./schema.ts";
import { insertViewed, listViewed, removeViewed } from "./viewed_store.ts";

/** The most files that one person has marked. */
const MOST = 10_000;

/**
 * The files that a person has viewed. They are the reader's notes: no decision depends on them, so
 * no ledger holds them.
 */
export class ViewedFiles {
  readonly #registry: Database;
  readonly #now: () => number;
  readonly #most: number;

  constructor(registry: Database, now: () => number, most = MOST) {
    this.#registry = registry;
    this.#now = now;
    this.#most = most;
  }

  /** The files of the session that this person marked, each with its content at that time. */
  list(session_id: string, caller: Caller): Promise<ViewedFile[]> {
    return listViewed(this.#registry, { member_id: personOf(caller), session_id });
  }

  /** Marks the file or takes the mark away; returns the marks of the session. */
  async set(
    session_id: string,
    { is_viewed, ...file }: ViewedInput,
    caller: Caller,
  ): Promise<ViewedFile[]> {
    const viewer = { member_id: personOf(caller), session_id };
    const at = new Date(this.#now()).toISOString();
    await this.#registry.batch(
      is_viewed
        ? insertViewed(viewer, file, { at, most: this.#most })
        : [removeViewed(viewer, file.path)],
    );
    return await this.list(session_id, caller);
  }
}

/** The person behind the credential; without a credential it is the name of the caller. */
function personOf({ member_id, id }: Caller): string {
  return member_id ?? id;
}
