import { Command, Option } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import type { Grant } from "../../server/grants/schema.ts";
import { readIdPrefix } from "../actions/find.ts";
import { CliError } from "../errors.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { ago, paint, print, printJson, table } from "../terminal/output.ts";
import { countBetween } from "../options.ts";
import { openProject } from "../project.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate grant`: lists and revokes remembered approvals. */
export function createCommand(io: Io) {
  const grant = new Command("grant").description(
    "List or revoke grants: approvals that gate approve --remember keeps for a while.",
  );
  grant.command("list")
    .description("List the grants, newest first.")
    .option("-n, --limit <count>", "list this many, at most 500", countBetween(1, 500), 50)
    .addOption(
      new Option("--state <state>", "only grants in this state; live: it can still be used")
        .choices(["live", "used_up", "expired", "revoked", "all"] as const)
        .default("live" as const),
    )
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate grant list", "gate grant list --state all"))
    .action(async ({ limit, state, project, json }) => {
      const client = await openProject(io, project);
      const query = { limit: String(limit), ...state !== "all" && { state } };
      const { items } = await unwrap(client.api.grants.$get({ query }));
      if (json) printJson(io, items);
      else print(io, items.length > 0 ? grantTable(items) : noGrant(state));
    });
  grant.command("revoke")
    .description("Revoke a grant at once. gate holds the next action that matches it.")
    .argument(
      "<id>",
      "the grant's id, or the first digits of it if no other live grant has them",
      parseGrantId,
    )
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate grant revoke 0199a1b2"))
    .action(async (prefix, { project, json }) => {
      const client = await openProject(io, project);
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

/** Completes the beginning of an id; the daemon validates a complete id. */
async function findId(client: Client, prefix: string): Promise<string> {
  if (prefix.length === 36) return prefix;
  const query = { limit: "500", state: "live" as const };
  const { items } = await unwrap(client.api.grants.$get({ query }));
  const found = items.filter(({ id }) => id.startsWith(prefix));
  if (found.length === 1) return found[0]!.id;
  const why = found.length === 0
    ? `no live grant's id begins with "${prefix}"`
    : `the ids of ${found.length} live grants begin with "${prefix}"`;
  throw new CliError(`Cannot find the grant: ${why}`, { next: "gate grant list" });
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

/** The actions that a grant allows, on one line that is safe to print. */
function describe({ pattern, access, command, path, tool }: Grant): string {
  if (pattern !== null) return visibleLine(`${access} ${pattern}`);
  return `exactly ${visibleLine(command ?? `${tool} ${path ?? ""}`)}`;
}

function noGrant(state: string): string {
  return state === "live"
    ? "There is no live grant. Create one: gate approve <id> --remember"
    : "There is no such grant.";
}

const HELP = `
Examples:
  gate approve 0199a1b2 --remember --ttl 1h --max-uses 20
  gate grant list
  gate grant revoke 0199a1c3
`;
