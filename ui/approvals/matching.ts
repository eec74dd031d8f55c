import { signal } from "@preact/signals";
import type { Action } from "../../server/actions/schema.ts";
import { api, unwrap } from "../state/client.ts";
import { pending } from "../state/live.ts";

/** Held actions that a grant would have allowed, after a person has just made it. */
export interface Matching {
  /** As they were when they were found; each is approved by this digest. */
  actions: Action[];
  /** How many more match and need a review of their own. */
  alone: number;
}

/** The open question about them; null without one. */
export const matching = signal<Matching | null>(null);

/** Looks for held actions that match what was just remembered, and asks about them. */
export async function askAboutMatching({ id, project_id }: Action): Promise<void> {
  const { items: [grant] } = await unwrap(
    api(project_id).api.grants.$get({ query: { action_id: id, state: "live" } }),
  );
  if (!grant) return;
  const { items, alone } = await unwrap(
    api(project_id).api.grants[":id"].waiting.$get({ param: { id: grant.id } }),
  );
  const digests = new Map(items.map((item) => [item.id, item.digest]));
  const actions = pending.value?.filter((held) => digests.get(held.id) === held.digest) ?? [];
  if (actions.length > 0) matching.value = { actions, alone };
}
