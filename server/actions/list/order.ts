import { GateError } from "../../errors.ts";
import type { ActionList, ActionQuery } from "./schema.ts";

/** The values of a column in the order of a list: first what a person looks for. */
const GROUPS = {
  risk: ["critical", "high", "medium", "low"],
  status: ["pending", "rejected", "blocked", "rolled_back", "expired", "cancelled", "approved"],
  execution: ["failed", "unknown", "none", "succeeded", "running"],
} as const satisfies Partial<Record<NonNullable<ActionQuery["order"]>, readonly string[]>>;

/** Lists actions by time, at most so many. */
type ListByTime = (query: ActionQuery, limit: number) => Promise<ActionList>;

/**
 * One page in the queried order. A list by a column is the lists of its values, one after the other,
 * each newest first, so that no statement sorts. @throws GateError `invalid` for a strange cursor
 */
export async function listInOrder(
  { order = "newest", ...query }: ActionQuery,
  limit: number,
  listByTime: ListByTime,
): Promise<ActionList> {
  if (order === "newest" || order === "oldest") return await listByTime({ ...query, order }, limit);
  const values: readonly string[] = GROUPS[order];
  const place = placeOf(values, query.cursor);
  const items: ActionList["items"] = [];
  for (let { at, cursor } = place; at < values.length; at++, cursor = undefined) {
    const value = values[at]!;
    if (query[order] !== undefined && query[order] !== value) continue;
    if (items.length === limit) return { items, next_cursor: `${value}.` };
    const group = { ...query, [order]: value, cursor } as ActionQuery;
    const page = await listByTime(group, limit - items.length);
    items.push(...page.items);
    if (page.next_cursor !== null) return { items, next_cursor: `${value}.${page.next_cursor}` };
  }
  return { items, next_cursor: null };
}

/** The value at which a page begins, and the cursor in the list of that value. */
function placeOf(
  values: readonly string[],
  cursor: string | undefined,
): { at: number; cursor: string | undefined } {
  if (cursor === undefined) return { at: 0, cursor };
  const end = cursor.indexOf(".");
  const at = values.indexOf(cursor.slice(0, Math.max(0, end)));
  if (at < 0) {
    throw new GateError(
      "invalid",
      'Cannot read the list: "cursor" must be the next_cursor of a page in the same order',
    );
  }
  return { at, cursor: cursor.slice(end + 1) || undefined };
}
