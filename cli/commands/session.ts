import { Command, Option } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import type { Session, SessionDiff, SessionRollbackResult } from "../../server/sessions/schema.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { ago, count, paint, print, printJson, table } from "../terminal/output.ts";
import { countBetween } from "../options.ts";
import { chooseProject } from "../project.ts";
import { asTyped } from "../actions/rollback.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";
import { fit } from "../terminal/width.ts";

/** `gate session`: what one connection of an agent did, and its undoing as a whole. */
export function createCommand(io: Io) {
  const session = new Command("session").description("What agents did, connection by connection.")
    .addHelpText("after", examples("gate session list", "gate session diff 0199a1b2-…"));
  const add = (name: string, description: string) =>
    session.command(name).description(description)
      .addHelpText("after", examples(`gate session ${name}${name === "list" ? "" : " 0199a1b2-…"}`))
      .option("--project <id>", "of this project; otherwise of the one of this folder")
      .option("--json", "print JSON");
  add("list", "List sessions, newest first.")
    .option("-n, --limit <count>", "how many, at most 500", countBetween(1, 500), 20)
    .option("--agent <name>", "of this agent")
    .option("--host <platform>", "in this host, such as codex")
    .option("--client <name>", "of this client, as it names itself")
    .action(async ({ project, json, limit, ...filters }) => {
      const client = await clientOf(io, project);
      const query = { limit: String(limit), ...filters };
      const { items } = await unwrap(client.api.sessions.$get({ query }));
      if (json) printJson(io, items);
      else print(io, items.length ? sessionTable(items) : "There is no session yet.");
    });
  add("show", "Show one session.").argument("<id>", "its id").action(
    async (id, { project, json }) => {
      const client = await clientOf(io, project);
      const found = await unwrap(client.api.sessions[":id"].$get({ param: { id } }));
      if (json) printJson(io, found);
      else print(io, sessionTable([found]));
    },
  );
  add("diff", "Show what a session did to the files.").argument("<id>", "its id").action(
    async (id, { project, json }) => {
      const client = await clientOf(io, project);
      const diff = await unwrap(client.api.sessions[":id"].diff.$get({ param: { id } }));
      if (json) printJson(io, diff);
      else print(io, describeDiff(diff));
    },
  );
  session.addCommand(rollbackCommand(io));
  return session;
}

function rollbackCommand(io: Io) {
  return new Command("rollback")
    .description("Undo a session, newest first, all or nothing.")
    .argument("<id>", "the session's id")
    .option("--only <action...>", "these actions of it only")
    .option("--dry-run", "show what would change and touch nothing")
    .addOption(
      new Option("--on-conflict <how>", "when a file has changed since")
        .choices(["abort", "merge", "force"] as const).default("abort" as const),
    )
    .option("--reason <text>", "kept in the audit log")
    .option("--project <id>", "of this project; otherwise of the one of this folder")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (id, { only, dryRun, onConflict, reason, project, json }) => {
      const { api } = await clientOf(io, project);
      const body = { on_conflict: onConflict, dry_run: dryRun ?? false, ...reason && { reason } };
      const one = api.sessions[":id"];
      const asked = only
        ? one["rollback-partial"].$post({ param: { id }, json: { ...body, action_ids: only } })
        : one.rollback.$post({ param: { id }, json: body });
      const chosen = only ? ` --only ${only.join(" ")}` : "";
      const result = await unwrap<SessionRollbackResult>(asked).catch((error) => {
        throw asTyped(io, error, `gate session rollback ${id}${chosen}`);
      });
      if (json) printJson(io, result);
      else print(io, describeRollback(io, result));
    });
}

async function clientOf(io: Io, project: string | undefined): Promise<Client> {
  const connection = await openConnection(io, { scope: "reviewer" });
  return scopedClient(connection, await chooseProject(io, connection.client, project));
}

function sessionTable(sessions: Session[]): string {
  return table(sessions.map((session) => [
    session.id,
    ago(session.started_at, Date.now()).padStart(4),
    session.ended_at === null ? "open" : "ended",
    fit(visibleLine(session.agent), 16),
    fit(visibleLine(session.host), 16),
    `${count(session.action_count, "action")}, ${session.pending_count} waiting`,
    session.rollback_state === "none" ? "" : `rolled back: ${session.rollback_state}`,
  ]));
}

function describeDiff({ files }: SessionDiff): string {
  if (files.length === 0) return "The files are as they were before the session.";
  return files.map(({ path, renamed_from, change, patch, omitted, after }) => {
    const from = renamed_from === null ? "" : ` from ${visibleLine(renamed_from)}`;
    const why = omitted === null
      ? ""
      : ` (${omitted.replaceAll("_", " ")}, ${after?.bytes ?? 0} bytes)`;
    const head = `${change}${from}: ${visibleLine(path)}${why}`;
    return patch === null ? head : `${head}\n${visibleText(patch)}`;
  }).join("\n");
}

function describeRollback(io: Io, { dry_run, actions, skipped }: SessionRollbackResult): string {
  const verb = dry_run ? "would be undone" : "undone";
  return [
    `${paint(io, "green", "✓")} ${count(actions.length, "action")} ${verb}`,
    ...actions.map(({ action_id, outcome, changes }) =>
      `  ${action_id}  ${outcome.replaceAll("_", " ")}  ${
        changes.map(({ path }) => visibleLine(path)).join(", ")
      }`
    ),
    ...skipped.map(({ action_id, why }) =>
      `${paint(io, "yellow", "!")} ${action_id}  left: ${visibleLine(why)}`
    ),
  ].join("\n");
}

const HELP = `
Everything is checked before anything is touched. The undoing can be undone: each action that it
made can be rolled back too.

Examples:
  gate session list
  gate session rollback 0199a1b2-… --dry-run
  gate session rollback 0199a1b2-… --only 0199a1b3-… 0199a1b4-…
`;
