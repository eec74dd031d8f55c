import type { Action } from "../actions/schema.ts";
import type { ActionList, ActionQuery } from "../actions/list/schema.ts";
import { DEFAULT_LIMIT } from "../db/cursor.ts";
import { GateError } from "../errors.ts";
import type { Project } from "./project.ts";
import type { ProjectSet } from "./narrow.ts";
import { findSeqBelow } from "./store.ts";

const PAGE = 500;

/** A cursor over all projects: the id of the last action shown (ids grow with time). */
const CURSOR = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Everything held, in all projects, newest first. */
export async function listPendingAcross(projects: ProjectSet): Promise<Action[]> {
  const open = await projects.listOpen();
  const held = await Promise.all(open.map(async (project) => {
    return await project.countPending() > 0 ? await listAllPending(project) : [];
  }));
  return held.flat().toSorted(newestFirst);
}

/** One page of the actions of all projects, or of one, newest first. @throws GateError */
export async function listAcross(projects: ProjectSet, query: ActionQuery): Promise<ActionList> {
  const { cursor, limit = DEFAULT_LIMIT, ...filters } = query;
  if (cursor !== undefined && !CURSOR.test(cursor)) {
    throw new GateError(
      "invalid",
      'Cannot read the list: "cursor" must be the next_cursor of a page',
    );
  }
  let page: Action[] = [];
  for await (const { project, last_activity_at } of meant(projects, filters.project)) {
    const oldest = page.length > limit ? page.at(-1) : undefined;
    // The projects come newest first: nothing in the rest can still belong to this page.
    if (oldest && last_activity_at < oldest.created_at) break;
    if (filters.project === undefined && last_activity_at < (filters.from ?? "")) break;
    const items = await listBelow(
      project,
      { ...filters, limit: limit + 1 },
      cursor,
    );
    page = [...page, ...items].toSorted(newestFirst).slice(0, limit + 1);
  }
  const items = page.slice(0, limit);
  return { items, next_cursor: page.length > limit ? items.at(-1)?.id ?? null : null };
}

/** The project that is named, else all that hold actions. @throws GateError `not_found` */
async function* meant(
  projects: ProjectSet,
  id: string | undefined,
): ReturnType<ProjectSet["listActive"]> {
  if (id === undefined) return yield* projects.listActive();
  yield { project: await projects.get(id), last_activity_at: "" };
}

async function listAllPending(project: Project): Promise<Action[]> {
  const items: Action[] = [];
  let cursor: string | undefined;
  do {
    const page = await project.actions.list({ status: "pending", limit: PAGE, cursor });
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return items;
}

async function listBelow(
  project: Project,
  query: ActionQuery,
  id: string | undefined,
): Promise<Action[]> {
  if (id === undefined) return (await project.actions.list(query)).items;
  const seq = await findSeqBelow(project.ledger, id);
  if (seq === null) return [];
  // The cursor of one project is the number below which its page goes on.
  return (await project.actions.list({ ...query, cursor: String(seq + 1) })).items;
}

function newestFirst(a: Action, b: Action): number {
  return a.id < b.id ? 1 : -1;
}
