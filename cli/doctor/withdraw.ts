import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import type { Io } from "../io.ts";

/** Takes a held canary back: nobody shall have to decide on it. */
export async function withdraw(io: Io, { id, project_id }: Action): Promise<void> {
  const connection = await openConnection(io, { scope: "agent", start: false });
  const { api } = scopedClient(connection, project_id);
  const json = { reason: "the canary of gate doctor" };
  await unwrap(api.actions[":id"].cancel.$post({ param: { id }, json }));
}
