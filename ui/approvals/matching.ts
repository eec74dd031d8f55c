import { signal } from "@preact/signals";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { HIDDEN } from "../../server/shown/visible.ts";
import { api, unwrap } from "../state/client.ts";
import { pending } from "../state/live.ts";

/** Held actions that a grant would have allowed, after a person has just made it. */
export interface Matching {
  /** As they were when they were found; each is approved by this digest. */
  actions: ActionDetail[];
  /** How many more match and stay in the queue. */
  alone: number;
}

/** So many actions are read and listed at most. */
const MOST_LISTED = 100;

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
  const held = pending.value?.filter(({ id, digest }) => digests.get(id) === digest) ?? [];
  const read = await Promise.all(held.slice(0, MOST_LISTED).map(readForList));
  const actions = read.filter((detail) => detail !== null);
  const unlisted = held.length - actions.length;
  if (actions.length > 0) matching.value = { actions, alone: alone + unlisted };
}

/** The action if a line of a list can say what it does; null if its card has to. */
async function readForList({ id, digest, project_id }: Action): Promise<ActionDetail | null> {
  const detail = await unwrap(api(project_id).api.actions[":id"].$get({ param: { id } }));
  const isPlain = detail.outside === null && detail.conflicts.length === 0 &&
    !HIDDEN.test(`${detail.command ?? ""}${detail.path ?? ""}${detail.cwd ?? ""}`);
  if (detail.status !== "pending" || detail.digest !== digest || !isPlain) return null;
  const { checkShown } = await import("../../server/actions/show/check_shown.ts");
  return await checkShown(detail).then(() => detail, () => null);
}
