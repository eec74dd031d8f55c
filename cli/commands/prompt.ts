import { Command } from "@commander-js/extra-typings";
import { readToken } from "../../server/auth/tokens.ts";
import { createClient, unwrap } from "../../server/client.ts";
import { findDaemon } from "../connect.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../output.ts";
import { placeOf } from "../place.ts";

/** `gate prompt`: how many actions wait, for a shell prompt; quiet when none do. */
export function createCommand(io: Io) {
  return new Command("prompt")
    .description("Print how many actions wait, for a shell prompt; nothing when none do.")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ json }) => {
      const count = await countPending(io);
      if (json) printJson(io, { running: count !== null, pending: count ?? 0 });
      else if (count) print(io, `gate:${count}`);
    });
}

/** The number of held actions, or null when no daemon runs; never starts one, never fails. */
async function countPending(io: Io): Promise<number | null> {
  try {
    const { home, port } = placeOf(io);
    const found = await findDaemon({ home, port });
    if (!found) return null;
    const client = createClient({ ...found, token: await readToken(home, "viewer") });
    const { projects } = await unwrap(client.api.daemon.status.$get());
    return projects.reduce((sum, project) => sum + project.pending_count, 0);
  } catch {
    return null;
  }
}

const HELP = `
It never starts the daemon and always exits 0.

Examples:
  PS1='$(gate prompt) \\$ '
`;
