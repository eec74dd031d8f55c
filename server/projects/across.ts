import type { Action, HeldAction } from "../actions/schema.ts";
import { listInOrder } from "../actions/list/order.ts";
import type { ActionList, ActionQuery } from "../actions/list/schema.ts";
import { DEFAULT_LIMIT } from "../db/cursor.ts";
import { elsewhere } from "../db/elsewhere.ts";
import { GateError } from "../errors.ts";
import type { Project } from "./project.ts";
import type { Projects } from "./projects.ts";
import { findSeqBelow } from "./store.ts";

const PAGE = 500;

/** A cursor over all projects: the id of the last listed action. Ids grow with time. */
const CURSOR = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The pending actions of all projects, newest first. */
export async function listPendingAcross(projects: ProjectSet): Promise<HeldAction[]> {
  const open = await projects.listOpen();
  const held = await Promise.all(open.map(async (project) => {
    return await project.countPending() > 0 ? await listAllPending(project) : [];
  }));
  return held.flat().toSorted(newestFirst);
}

/** One page of the actions of all projects or of one, in the queried order. @throws GateError */
export async function listAcross(projects: ProjectSet, query: ActionQuery): Promise<ActionList> {
  const { limit = DEFAULT_LIMIT, ...wanted } = query;
  return await listInOrder(wanted, limit, (part, most) => listByTime(projects, part, most));
}

async function listByTime(
  projects: ProjectSet,
  { cursor, ...filters }: ActionQuery,
  limit: number,
): Promise<ActionList> {
  const rises = filters.order === "oldest";
  if (cursor !== undefined && !CURSOR.test(cursor)) {
    throw new GateError(
      "invalid",
      'Cannot read the list: "cursor" must be the next_cursor of a page',
    );
  }
  let page: Action[] = [];
  for await (const { project, last_activity_at } of selected(projects, filters.project)) {
    const oldest = page.length > limit ? page.at(-1) : undefined;
    // Projects are sorted by activity, so the remaining ones hold only older actions.
    if (!rises && oldest && last_activity_at < oldest.created_at) break;
    if (filters.project === undefined && last_activity_at < (filters.from ?? "")) break;
    const items = await listAfter(
      project,
      { ...filters, limit: limit + 1 },
      cursor,
    );
    page = [...page, ...items].toSorted(rises ? oldestFirst : newestFirst).slice(0, limit + 1);
  }
  const items = page.slice(0, limit);
  return { items, next_cursor: page.length > limit ? items.at(-1)?.id ?? null : null };
}

/** The named project, else every project with actions. @throws GateError `not_found` */
async function* selected(
  projects: ProjectSet,
  id: string | undefined,
): ReturnType<ProjectSet["listActive"]> {
  if (id === undefined) return yield* projects.listActive();
  yield { project: await projects.get(id), last_activity_at: "" };
}

async function listAllPending({ actions, ledger }: Project): Promise<HeldAction[]> {
  const items: HeldAction[] = [];
  let cursor: string | undefined;
  do {
    const page = await actions.list({ status: "pending", limit: PAGE, cursor });
    for (const action of page.items) {
      items.push({ ...action, machine: await elsewhere(ledger, action.session_id) });
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return items;
}

async function listAfter(
  project: Project,
  query: ActionQuery,
  id: string | undefined,
): Promise<Action[]> {
  if (id === undefined) return (await project.actions.list(query)).items;
  if (query.order === "oldest") {
    const seen = await findSeqBelow(project.ledger, id, { or_same: true });
    const after = seen === null ? {} : { cursor: String(seen) };
    return (await project.actions.list({ ...query, ...after })).items;
  }
  const seq = await findSeqBelow(project.ledger, id);
  if (seq === null) return [];
  // A project's own cursor is the sequence number below which its page continues.
  return (await project.actions.list({ ...query, cursor: String(seq + 1) })).items;
}

function newestFirst(a: Action, b: Action): number {
  return a.id < b.id ? 1 : -1;
}

function oldestFirst(a: Action, b: Action): number {
  return newestFirst(b, a);
}

/** The part of `Projects` that lists over many projects. */
export type ProjectSet = Pick<Projects, "get" | "listActive" | "listOpen" | "listSince">;

/** The same projects, limited to these ids. */
export function narrow(projects: ProjectSet, ids: ReadonlySet<string>): ProjectSet {
  return {
    get: (id) => projects.get(id),
    async *listActive() {
      for await (const active of projects.listActive(ids)) yield active;
    },
    listOpen: async () => (await projects.listOpen()).filter(({ id }) => ids.has(id)),
    listSince: (at) => projects.listSince(at, ids),
  };
}
