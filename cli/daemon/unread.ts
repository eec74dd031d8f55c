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
 * Says on stderr which projects a list over all projects, or over one, lacks, and why. Returns the
 * words with which the sentence about an empty list ends: none, or those that limit it to the other
 * projects.
 */
export async function sayUnread(
  io: Io,
  { client }: Connection,
  project?: string,
): Promise<string> {
  const unread = unreadProjects(await unwrap(client.api.daemon.status.$get()))
    .filter((id) => project === undefined || id === project);
  if (unread.length === 0) return "";
  const { ledgers } = await unwrap(client.api.hub.storage.$get());
  for (const id of unread) {
    const url = ledgers.find(({ project_id }) => project_id === id)?.url ?? null;
    const [why, next] = url === null
      ? ["its ledger cannot be read", "gate status"]
      : [`the server of its ledger, ${visibleLine(url)}, cannot be used`, "gate hub status"];
    const what = `The actions of ${visibleLine(id)} are missing here: ${why}`;
    say(io, `${paint(io, "yellow", `! ${what}`)}\n  try: ${next}`);
  }
  return " in the projects that can be read";
}
