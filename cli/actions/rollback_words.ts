import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { summarize } from "./view.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import { count } from "../terminal/output.ts";

/** More of them are only called by the action that they undo. */
const MOST = 25;

/** What rollbacks of more than one file undo, by their ids: the list of actions does not tell. */
export async function describeRollbacks(
  connection: Connection,
  actions: readonly Action[],
): Promise<Map<string, string>> {
  const unnamed = actions.filter(({ rollback_of, path }) => rollback_of !== null && path === null);
  const listed = new Map(actions.map((action) => [action.id, action]));
  const said = unnamed.slice(0, MOST).map(async (action) =>
    [
      action.id,
      // One that cannot be told of must not keep the others from being listed.
      await describeRollback(connection, action, listed).catch(() => summarize(action)),
    ] as const
  );
  return new Map(await Promise.all(said));
}

/** What it undid is mostly in the same list: only how many files that were has to be asked for. */
async function describeRollback(
  connection: Connection,
  action: Action,
  listed: ReadonlyMap<string, Action>,
): Promise<string> {
  const { ":id": one } = scopedClient(connection, action.project_id).api.actions;
  const detailOf = (id: string) => unwrap(one.$get({ param: { id } }));
  const [{ changes }, undone] = await Promise.all([
    detailOf(action.id),
    listed.get(action.rollback_of!) ?? detailOf(action.rollback_of!),
  ]);
  const files = changes.length > 0 ? count(changes.length, "file") : "folders";
  return `${files} of ${summarize(undone)}`;
}
