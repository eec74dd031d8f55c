import { useMemo } from "preact/hooks";
import type { GlobalActionQuery } from "../../server/global/schema.ts";
import { ExplainedError } from "../../server/proof/explained_error.ts";
import { api, unwrap } from "../state/client.ts";
import { daemon, useLive } from "../state/live.ts";
import { useWorkspace } from "../state/project.ts";
import { ActionRows, type Page, PAGE_ROWS } from "./rows.ts";

type FeedQuery = Partial<Record<keyof GlobalActionQuery, string>>;

/** The list that was shown last: the way back from a record finds its rows at their places. */
let latest: ActionRows | null = null;

/** The actions of one project, or of all, from this cursor; a list that is known goes on. */
export function useFeed(
  project: string | null,
  query: FeedQuery,
  cursor: string | undefined,
): ActionRows {
  const workspace = useWorkspace()?.id ?? null;
  const known = daemon.value !== null;
  const key = JSON.stringify([project, workspace, query]);
  const rows = useMemo(() => {
    if (latest?.key === key && (latest.start === null || latest.start === cursor)) return latest;
    const wanted = workspace && !project ? { ...query, workspace } : query;
    const order = query.order ?? null;
    latest = new ActionRows(
      { key, start: cursor ?? null, order },
      (at) => load(project, at === null ? wanted : { ...wanted, cursor: at }),
    );
    return latest;
  }, [key, cursor === undefined]);
  useLive(
    `${known} ${key} ${rows.start}`,
    async () => {
      if (known) await rows.refresh();
    },
    ({ topic, project_id }) =>
      (topic === "actions" || topic === "approvals") && (!project || project_id === project),
  );
  return rows;
}

async function load(project: string | null, query: FeedQuery): Promise<Page> {
  const parameters = { ...query as Record<string, string>, limit: String(PAGE_ROWS) };
  const answer = project
    ? await unwrap<Page | { count: number }>(api(project).api.actions.$get({ query: parameters }))
    : await unwrap<Page | { count: number }>(api().api.global.actions.$get({ query: parameters }));
  if ("count" in answer) {
    throw new ExplainedError("Cannot list the actions: the daemon answered with a count");
  }
  return answer;
}
