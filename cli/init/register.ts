import { createClient, unwrap } from "../../server/client.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { findDaemon } from "../connect.ts";
import { leaveRoot } from "../daemon/waiting_roots.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { visibleLine } from "../visible.ts";

/** Registers a project with the running daemon, or with the next one; says which. */
export async function registerRoot(io: Io, root: string): Promise<string> {
  const { home } = placeOf(io);
  const found = await findDaemon(placeOf(io));
  if (!found) {
    leaveRoot(home, root);
    return "Registered when the daemon starts: gate daemon start";
  }
  const client = createClient({ ...found, token: await readToken(home, "reviewer") });
  const { id } = await unwrap(client.api.hub.projects.$post({ json: { root } }));
  return `Registered as ${visibleLine(id)}.`;
}
