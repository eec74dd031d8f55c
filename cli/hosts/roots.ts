import { createClient, unwrap } from "../../server/client.ts";
import { readToken } from "../../server/auth/tokens.ts";
import { findDaemon } from "../daemon/find.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";

/** The roots of all registered projects, or null when no daemon runs that could tell. */
export async function rootsOfDaemon(io: Io): Promise<string[] | null> {
  const place = placeOf(io);
  const found = await findDaemon(place);
  if (!found) return null;
  const client = createClient({ ...found, token: await readToken(place.home, "viewer") });
  const { items } = await unwrap(client.api.hub.projects.$get());
  return items.flatMap(({ roots }) => roots);
}
