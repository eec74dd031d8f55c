import { Command, Option } from "@commander-js/extra-typings";
import type { Escalation, RoutedApproval } from "../../server/actions/review/schema.ts";
import { type Client, unwrap } from "../../server/client.ts";
import { actionTable } from "../actions/table.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import { sayUnread } from "../daemon/unread.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { print, printJson, say, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { describeRollbacks } from "../actions/rollback.ts";
import { summarize } from "../actions/view.ts";
import { sayStepBacks, witnessAll } from "../witness/witness.ts";

/** `gate pending`: the held actions of all projects. */
export function createCommand(io: Io) {
  return new Command("pending")
    .description("List the held actions: those that wait for your approval, in all projects.")
    .option("--project <id>", "only this project")
    .option("--workspace <id>", "only the projects of this workspace")
    .addOption(
      new Option("--routed", "show who answered, who is asked and until when, by approval route")
        .conflicts(["workspace", "escalations"]),
    )
    .addOption(
      new Option("--escalations", "show the held actions that more members are asked about")
        .conflicts("workspace"),
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate pending", "gate pending --routed", "gate pending --json | jq -r '.[].id'"),
    )
    .action(async ({ project, workspace, routed, escalations, json }) => {
      const connection = await openConnection(io, { scope: "viewer" });
      const { client } = connection;
      const query = { project };
      if (routed) {
        const { items } = await unwrap(client.api.approvals.pending.$get({ query }));
        if (json) return printJson(io, items);
        return print(io, items.length > 0 ? routedTable(items) : "No held action has a route.");
      }
      if (escalations) {
        const { items } = await unwrap(client.api.escalations.pending.$get({ query }));
        if (json) return printJson(io, items);
        return print(io, items.length > 0 ? escalationTable(items) : "Nothing has escalated.");
      }
      const { items } = await unwrap(
        client.api.global.approvals.pending.$get({ query: { workspace } }),
      );
      const held = project ? items.filter((action) => action.project_id === project) : items;
      if (project && held.length === 0) await requireProject(client, project);
      sayStepBacks(io, await witnessAll(io, connection));
      const where = await sayUnread(io, connection, project);
      if (json) return printJson(io, held);
      if (held.length === 0) return print(io, `No action is held${where}.`);
      const described = await describeRollbacks(connection, held);
      print(io, actionTable(io, held, { now: Date.now(), described, held: true }));
      say(io, "\n  gate show <id>   gate approve <id>   gate reject <id> --reason '…'");
    });
}

function routedTable(items: readonly RoutedApproval[]): string {
  return table(items.map(({ action, route_id, need, have, asked, answered, deadline }) => {
    const answers = answered.map(({ member_id, verdict }) =>
      `${visibleLine(member_id)} ${verdict === "approve" ? "approved" : "rejected"}`
    );
    return [
      action.id,
      visibleLine(route_id),
      `${have} of ${need}`,
      deadline === null ? "no deadline" : `until ${minuteOf(deadline)}`,
      [...answers, ...asked.map((id) => `${visibleLine(id)} is asked`)].join(", "),
      summarize(action),
    ];
  }));
}

function escalationTable(items: readonly Escalation[]): string {
  return table(items.map(({ action_id, route_id, level, raised_at, to }) => [
    action_id,
    visibleLine(route_id),
    `level ${level}`,
    `since ${minuteOf(raised_at)}`,
    `to ${to.map(visibleLine).join(", ")}`,
  ]));
}

function minuteOf(at: string): string {
  return `${at.slice(0, 16).replace("T", " ")}Z`;
}

/** Refuses a project that does not exist, because an empty list would be misleading. */
async function requireProject(client: Client, id: string): Promise<void> {
  const { items } = await unwrap(client.api.hub.projects.$get());
  if (items.some((project) => project.id === id)) return;
  throw new CliError(`Cannot find project "${id}": it is not registered`, {
    next: "gate project list",
  });
}
