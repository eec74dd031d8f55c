import { unwrap } from "../../server/client.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import type { Io } from "../io.ts";
import { paint, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import type { Connection } from "./connect.ts";

/** The projects whose ledger the daemon cannot read now, so that lists over all projects lack them. */
export function unreadProjects({ projects }: DaemonStatus): string[] {
  return projects.filter(({ unread }) => unread).map(({ id }) => id);
}

/**
 * Says on stderr which projects a list over all projects lacks. Returns the words with which the
 * sentence about an empty list ends: none, or those that limit it to the other projects.
 */
export async function sayUnread(io: Io, { client }: Connection): Promise<string> {
  const unread = unreadProjects(await unwrap(client.api.daemon.status.$get()));
  for (const id of unread) {
    const what = `The actions of ${visibleLine(id)} are missing here: its ledger cannot be read`;
    say(io, `${paint(io, "yellow", `! ${what}`)}\n  try: gate status`);
  }
  return unread.length === 0 ? "" : " in the projects that can be read";
}
