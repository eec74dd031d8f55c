import { createClient, unwrap } from "../../server/client.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { findDaemon } from "../daemon/find.ts";
import { leaveRoot } from "../daemon/waiting_roots.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";

/** Registers a project with the running daemon; null when the next one will do that. */
export async function registerRoot(io: Io, root: string): Promise<string | null> {
  const { home } = placeOf(io);
  const found = await findDaemon(placeOf(io));
  if (!found) {
    leaveRoot(home, root);
    return null;
  }
  const client = createClient({ ...found, token: await readToken(home, "reviewer") });
  return (await unwrap(client.api.hub.projects.$post({ json: { root } }))).id;
}
