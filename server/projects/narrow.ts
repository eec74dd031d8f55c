import type { Projects } from "./projects.ts";

/** What looks over many projects needs of them. */
export type ProjectSet = Pick<Projects, "get" | "listActive" | "listOpen" | "listSince">;

/** The projects as if there were none but these. */
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
