import { Command, Option } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import type { Grant } from "../../server/grants/schema.ts";
import { readIdPrefix } from "../actions/find.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { ago, paint, print, printJson, table } from "../terminal/output.ts";
import { countBetween } from "../options.ts";
import { chooseProject } from "../project.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate grant`: the decisions that are remembered, and their end. */
export function createCommand(io: Io) {
  const grant = new Command("grant").description(
    "Decisions that are remembered: gate approve --remember makes them.",
  );
  grant.command("list")
    .description("List what is allowed by a remembered decision, newest first.")
    .option("-n, --limit <count>", "how many, at most 500", countBetween(1, 500), 50)
    .addOption(
      new Option("--state <state>", "those that are so, or all")
        .choices(["live", "used_up", "expired", "revoked", "all"] as const)
        .default("live" as const),
    )
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate grant list", "gate grant list --state all"))
    .action(async ({ limit, state, project, json }) => {
      const client = await clientOf(io, project);
      const query = { limit: String(limit), ...state !== "all" && { state } };
      const { items } = await unwrap(client.api.grants.$get({ query }));
      if (json) printJson(io, items);
      else print(io, items.length > 0 ? grantTable(items) : nothing(state));
    });
  grant.command("revoke")
    .description("End a grant at once: what it would have allowed is asked about again.")
    .argument("<id>", "its id, or a beginning of it that no other live grant shares", parseGrantId)
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate grant revoke 0199a1b2"))
    .action(async (prefix, { project, json }) => {
      const client = await clientOf(io, project);
      const id = await findId(client, prefix);
      const revoked = await unwrap(client.api.grants[":id"].$delete({ param: { id } }));
      if (json) return printJson(io, revoked);
      print(io, `${paint(io, "green", "✓")} revoked: ${describe(revoked)}`);
    });
  return grant.addHelpText("after", HELP);
}

function parseGrantId(typed: string): string {
  return readIdPrefix(typed, "the id of a grant", "gate grant list");
}

async function clientOf(io: Io, project: string | undefined): Promise<Client> {
  const connection = await openConnection(io, { scope: "reviewer" });
  return scopedClient(connection, await chooseProject(io, connection.client, project));
}

/** A whole id is taken as it is; the daemon says what is wrong with it. */
async function findId(client: Client, prefix: string): Promise<string> {
  if (prefix.length === 36) return prefix;
  const query = { limit: "500", state: "live" as const };
  const { items } = await unwrap(client.api.grants.$get({ query }));
  const found = items.filter(({ id }) => id.startsWith(prefix));
  if (found.length === 1) return found[0]!.id;
  const what = found.length === 0
    ? "No live grant's id begins"
    : `${found.length} live grants begin`;
  throw new CliError(`${what} with "${prefix}"`, { next: "gate grant list" });
}

function grantTable(grants: Grant[]): string {
  return table(grants.map((grant) => [
    grant.id,
    ago(grant.created_at, Date.now()).padStart(4),
    grant.state.replace("_", " "),
    grant.scope,
    `${grant.uses}/${grant.max_uses} used`,
    `until ${grant.expires_at.slice(0, 16).replace("T", " ")}Z`,
    visibleLine(grant.given_by),
    describe(grant),
  ]));
}

/** What it allows, on one line that is safe to print. */
function describe({ pattern, access, command, path, tool }: Grant): string {
  if (pattern !== null) return visibleLine(`${access} ${pattern}`);
  return `exactly ${visibleLine(command ?? `${tool} ${path ?? ""}`)}`;
}

function nothing(state: string): string {
  return state === "live"
    ? "Nothing is remembered: gate approve <id> --remember does that."
    : "There is no such grant.";
}

const HELP = `
Examples:
  gate approve 0199a1b2 --remember --ttl 1h --max-uses 20
  gate grant list
  gate grant revoke 0199a1c3
`;
