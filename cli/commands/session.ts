import { Command, Option } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { Block, Recommendations } from "../../server/remediation/schema.ts";
import type {
  Session,
  SessionDiff,
  SessionRollbackInput,
  SessionRollbackResult,
} from "../../server/sessions/schema.ts";
import { CliError } from "../errors.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { ago, count, marked, paint, print, printJson, table } from "../terminal/output.ts";
import { countBetween } from "../options.ts";
import { openProject } from "../project.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { rollbackError } from "../actions/rollback.ts";
import { agentName } from "../../server/shown/agent_name.ts";
import { quote } from "../../server/shown/quote.ts";
import { fitVisible, visibleLine, visibleText } from "../terminal/visible.ts";

/** `gate session`: the sessions of agents, their changes, and their rollback as a whole. */
export function createCommand(io: Io) {
  const session = new Command("session")
    .description("List, compare or roll back sessions. A session is one connection of an agent.")
    .addHelpText("after", examples("gate session list", "gate session diff 0199a1b2-…"));
  const add = (name: string, description: string) =>
    session.command(name).description(description)
      .addHelpText(
        "after",
        examples(`gate session ${name}${/^(list|blocks)$/.test(name) ? "" : " 0199a1b2-…"}`),
      )
      .option("--project <id>", "the project (default: the project of this folder)")
      .option("--json", "print JSON");
  add("list", "List sessions, newest first.")
    .option("-n, --limit <count>", "list this many, at most 500", countBetween(1, 500), 20)
    .option("--agent <name>", "only this agent")
    .option("--host <platform>", "only this agent host, such as codex")
    .option("--client <name>", "only this MCP client, by its own name")
    .action(async ({ project, json, limit, ...filters }) => {
      const client = await openProject(io, project);
      const query = { limit: String(limit), ...filters };
      const { items } = await unwrap(client.api.sessions.$get({ query }));
      if (json) printJson(io, items);
      else print(io, items.length ? sessionTable(items) : "There is no session yet.");
    });
  add("show", "Show one session.").argument("<id>", SESSION_ID).action(
    async (id, { project, json }) => {
      const client = await openProject(io, project);
      const found = await unwrap(client.api.sessions[":id"].$get({ param: { id } }));
      if (json) printJson(io, found);
      else print(io, sessionTable([found]));
    },
  );
  add("diff", "Show how a session changed the files.").argument("<id>", SESSION_ID).action(
    async (id, { project, json }) => {
      const client = await openProject(io, project);
      const diff = await unwrap(client.api.sessions[":id"].diff.$get({ param: { id } }));
      if (json) printJson(io, diff);
      else print(io, describeDiff(diff));
    },
  );
  add("blocks", "List the sessions and agents that gate has blocked.").action(
    async ({ project, json }) => {
      const client = await openProject(io, project);
      const { items } = await unwrap(client.api.remediation.blocks.$get());
      if (json) printJson(io, items);
      else print(io, items.length ? blockTable(items) : "No session is blocked.");
    },
  );
  addRemediation(session, io);
  add("end", "End a session and cancel what it holds. Its agent must open a new one.")
    .argument("<id>", SESSION_ID)
    .action(async (id, { project, json }) => {
      const client = await openProject(io, project);
      const ended = await unwrap(client.api.sessions[":id"].end.$post({ param: { id } }));
      if (json) printJson(io, ended);
      else print(io, `${paint(io, "green", "✓")} ended: ${ended.id}`);
    });
  session.addCommand(unblockCommand(io));
  session.addCommand(rollbackCommand(io));
  return session;
}

/** The commands that say how a session stands and what a person can do about it. */
function addRemediation(session: Command, io: Io): void {
  const add = (name: string, description: string) =>
    session.command(name).description(description).argument("<id>", SESSION_ID)
      .addHelpText("after", examples(`gate session ${name} 0199a1b2-…`))
      .option("--project <id>", "the project (default: the project of this folder)")
      .option("--json", "print JSON");
  add("assess", "Assess the risk of a session, or of rolling it back.")
    .option("--rollback", "assess the rollback")
    .action(async (session_id, { project, json, rollback }) => {
      const { api } = await openProject(io, project);
      const body = { session_id, ...rollback && { rollback } };
      const risk = await unwrap(api.remediation.assess.$post({ json: body }));
      if (json) return printJson(io, risk);
      const rows = risk.factors.map((
        { name, weight, why },
      ) => [name, String(weight), visibleLine(why)]);
      print(io, [`${risk.level} ${risk.score}`, ...rows.length ? [table(rows)] : []].join("\n"));
    });
  add("evaluate", "Evaluate a session: secrets, denials, skipped reviews, spent budgets.")
    .action(async (session_id, { project, json }) => {
      const { api } = await openProject(io, project);
      const found = await unwrap(
        api.remediation["evaluate-policy"].$post({ json: { session_id } }),
      );
      if (json) return printJson(io, found);
      const rows = found.violations.map(({ rule, action_id, why }) => [
        rule,
        action_id ?? "",
        fitVisible(visibleLine(why), 120),
      ]);
      print(io, found.compliant ? "The session broke no rule." : table(rows));
    });
  add("recommend", "Rank what can be done about a session, with the command for each.")
    .action(async (session_id, { project, json }) => {
      const { api } = await openProject(io, project);
      const found = await unwrap(api.remediation.recommend.$post({ json: { session_id } }));
      if (json) return printJson(io, found);
      const there = project === undefined ? "" : ` --project ${quote(project)}`;
      print(
        io,
        found.map((one) =>
          [
            `${one.strategy} ${one.score}: ${visibleLine(one.why)}`,
            ...one.steps.map((step) => `  - ${step}`),
            `  ${visibleLine(commandOf(one, session_id))}${there}`,
          ].join("\n")
        ).join("\n\n"),
      );
    });
}

/** The command that carries out a strategy; the call itself if it is of a newer daemon. */
function commandOf({ strategy, call }: Recommendations[number], session_id: string): string {
  const id = quote(session_id);
  const target = quote(
    decodeURIComponent(call.path.split("/")[strategy === "lift_block" ? 4 : 3]!),
  );
  const only = [call.body?.["action_ids"] ?? []].flat().map((one) => quote(String(one))).join(" ");
  const commands: Record<string, string> = {
    reject_held: `gate reject --session ${id} --reason '…'`,
    rollback_risky_actions: `gate session rollback ${id} --dry-run --only ${only}`,
    rollback_session: `gate session rollback ${id} --dry-run`,
    revoke_grant: `gate grant revoke ${target}`,
    end_session: `gate session end ${id}`,
    lift_block: `gate session unblock ${target}`,
    review_changes: `gate session diff ${id}`,
  };
  const body = call.body === null ? "" : ` -d ${quote(JSON.stringify(call.body))}`;
  return commands[strategy] ?? `gate api ${call.method} ${call.path}${body}`;
}

function rollbackCommand(io: Io) {
  return new Command("rollback")
    .description(
      "Roll back all actions of a session, newest first. If one cannot be rolled back, roll back none.",
    )
    .argument("<id>", SESSION_ID)
    .option("--only <action...>", "roll back only these actions")
    .option("--dry-run", "show the changes and write nothing")
    .addOption(
      new Option("--on-conflict <how>", "what to do if a file has changed since the action")
        .choices(["abort", "merge", "force"] as const).default("abort" as const),
    )
    .option("--reason <text>", "a note for the audit log")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (id, { only, dryRun, onConflict, reason, project, json, passphraseStdin }) => {
      const { api } = await openProject(io, project, { passphraseStdin });
      const body = { on_conflict: onConflict, dry_run: dryRun ?? false, ...reason && { reason } };
      const one = api.sessions[":id"];
      const chosen = only ? ` --only ${only.join(" ")}` : "";
      const send = async (json: SessionRollbackInput) => {
        const answer = only
          ? one["rollback-partial"].$post({ param: { id }, json: { ...json, action_ids: only } })
          : one.rollback.$post({ param: { id }, json });
        return await unwrap<SessionRollbackResult>(answer).catch((error) => {
          throw rollbackError(io, error, `gate session rollback ${id}${chosen}`);
        });
      };
      const planned = await send({ ...body, dry_run: true });
      const { actions_sha256: expected_actions_sha256 } = planned;
      const result = dryRun ? planned : await send({ ...body, expected_actions_sha256 });
      if (json) printJson(io, result);
      else print(io, describeRollback(io, result));
    });
}

function unblockCommand(io: Io) {
  return new Command("unblock")
    .description("Lift the blocks of a session or an agent, so that it may go on.")
    .argument("<id>", SESSION_ID)
    .option("--reason <text>", "a note for the audit log")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate session unblock 0199a1b2-…"))
    .action(async (id, { reason, project, json, passphraseStdin }) => {
      const { api } = await openProject(io, project, { passphraseStdin });
      const { items } = await unwrap(api.remediation.blocks.$get());
      const found = items.filter((block) =>
        block.session_id === id || block.id === id || block.agent === id
      );
      if (found.length === 0) {
        throw new CliError(`Cannot lift the block of "${visibleLine(id)}": it has none`, {
          next: "gate session blocks",
        });
      }
      const lifted = [];
      for (const block of found) {
        lifted.push(
          await unwrap(
            api.remediation.blocks[":block_id"].unblock.$post({
              param: { block_id: block.id },
              json: reason === undefined ? {} : { reason },
            }),
          ),
        );
      }
      if (json) printJson(io, lifted);
      else print(io, `The session may go on: ${count(lifted.length, "block")} lifted.`);
    });
}

function blockTable(blocks: Block[]): string {
  return table(blocks.map(({ session_id, agent, created_at, expires_at, reason }) => [
    agent === null ? session_id : `agent ${visibleLine(agent).slice(0, 30)}`,
    ago(created_at, Date.now()).padStart(4),
    expires_at === null ? "until lifted" : `until ${expires_at.slice(0, 16).replace("T", " ")}Z`,
    fitVisible(visibleLine(reason), 120),
  ]));
}

function sessionTable(sessions: Session[]): string {
  return table(sessions.map((session) => [
    session.id,
    ago(session.started_at, Date.now()).padStart(4),
    session.block_reason !== null ? "blocked" : session.ended_at === null ? "open" : "ended",
    fitVisible(visibleLine(agentName(session.agent)), 16),
    fitVisible(visibleLine(session.host), 16),
    `${count(session.action_count, "action")}, ${session.pending_count} held`,
    session.rollback_state === "none" ? "" : `rolled back: ${session.rollback_state}`,
  ]));
}

function describeDiff({ files }: SessionDiff): string {
  if (files.length === 0) return "The session changed no file.";
  return files.map(({ path, renamed_from, change, patch, omitted, after }) => {
    const from = renamed_from === null ? "" : ` from ${visibleLine(renamed_from)}`;
    const why = omitted === null
      ? ""
      : ` (${omitted.replaceAll("_", " ")}, ${after?.bytes ?? 0} bytes)`;
    const head = `${change}${from}: ${visibleLine(path)}${why}`;
    return patch === null ? head : `${head}\n${marked(visibleText(patch.trimEnd()))}`;
  }).join("\n");
}

function describeRollback(io: Io, { dry_run, actions, skipped }: SessionRollbackResult): string {
  const verb = dry_run ? "would be rolled back" : "rolled back";
  return [
    `${paint(io, "green", "✓")} ${count(actions.length, "action")} ${verb}`,
    ...actions.flatMap(({ action_id, outcome, changes, left }) => [
      `  ${action_id}  ${outcome.replaceAll("_", " ")}  ${
        changes.map(({ path }) => visibleLine(path)).join(", ")
      }`,
      ...left ? [`${paint(io, "yellow", "!")} ${action_id}  left: ${visibleLine(left)}`] : [],
    ]),
    ...skipped.map(({ action_id, why }) =>
      `${paint(io, "yellow", "!")} ${action_id}  not rolled back: ${visibleLine(why)}`
    ),
  ].join("\n");
}

const SESSION_ID = "the session's id, from gate session list";

const HELP = `
gate checks all actions before it changes a file. A rollback consists of actions
too: roll them back to restore the changes.

It asks for your passphrase once; --dry-run asks for none. Where the proof is a
passkey, roll back in the dashboard.

  --on-conflict abort   changes nothing and shows the conflict
  --on-conflict merge   merges three-way: keeps later changes elsewhere in the file
  --on-conflict force   restores the old content; the ledger keeps the current content

Examples:
  gate session list
  gate session rollback 0199a1b2-… --dry-run
  gate session rollback 0199a1b2-… --only 0199a1b3-… 0199a1b4-…
`;
