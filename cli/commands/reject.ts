import { Command } from "@commander-js/extra-typings";
import type { Action, LineComment, RejectAllResult } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { rejectSeveral } from "../actions/decide_several.ts";
import { collectDigest, collectIdPrefix, openAction } from "../actions/find.ts";
import { summarize } from "../actions/view.ts";
import { type Connection, openConnection, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { ACTION_ID, examples } from "../options.ts";
import { count, paint, print, printJson } from "../terminal/output.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";

/** `gate reject <id...> --reason`: rejects held actions and gives the agents the reason. */
export function createCommand(io: Io) {
  return new Command("reject")
    .description("Reject one held action or several. The agent sees the reason.")
    .argument("[id...]", ACTION_ID, collectIdPrefix)
    .requiredOption("--reason <text>", "why, and what the agent should do instead", readReason)
    .option(
      "--comment <path:line:text>",
      "comment on a line of one action, -12 for a line before the change; repeatable",
      collectComment,
    )
    .option(
      "--digest <sha256>",
      "reject only if the action still has this digest; once for each id, in their order",
      collectDigest,
    )
    .option("--session <id>", "reject everything that this session holds")
    .option("--all", "reject everything that is held")
    .option("--project <id>", "with --all: only in this project")
    .option("--json", "print JSON; an array for several ids")
    .addHelpText(
      "after",
      examples(
        "gate reject 0199a1b2 --reason 'use the staging file'",
        "gate reject 0199a1b2 --reason 'nearly' --comment 'src/app.ts:12: close the file'",
        "gate reject 0199a1b2 0199a1b3 --reason 'one change at a time'",
        "gate reject --session 0199a1b3-… --reason 'the agent is stuck'",
        "gate reject --all --reason 'not today'",
      ),
    )
    .action(async (ids = [], { reason, comment, json, session, all, project, digest }) => {
      const named = [ids.length > 0, session !== undefined, all === true];
      if (named.filter(Boolean).length !== 1) throw misused("give ids, --session or --all");
      if (digest !== undefined && digest.length !== ids.length) {
        throw misused("give --digest once for each id, in the order of the ids");
      }
      if (comment !== undefined && ids.length !== 1) throw misused("--comment needs one id");
      const connection = await openConnection(io, { scope: "reviewer" });
      if (ids.length === 0) {
        const result = await rejectHeld(io, connection, { session, project, reason });
        return json ? printJson(io, result) : printAll(io, result);
      }
      if (ids.length > 1) {
        const several = { ids, digests: digest, reason };
        const { actions, refused } = await rejectSeveral(io, connection, several);
        if (json) printJson(io, actions);
        else for (const action of actions) printRejected(io, action);
        if (refused > 0) throw new Exit(EXIT.failed);
        return;
      }
      const { found, one, param } = await openAction(connection, ids[0]!);
      sayStepBacks(io, await witness(io, connection, [found.project_id]));
      const expected = digest && { expected_digest: digest[0]! };
      const more = { ...expected, ...comment && { comments: comment } };
      const action = await unwrap(one.reject.$post({ param, json: { reason, ...more } }));
      if (json) return printJson(io, action);
      printRejected(io, action);
    });
}

/** An agent that is told nothing tries the same again. @throws CliError */
function readReason(text: string): string {
  if (text.trim() === "") throw misused("--reason is empty; say what the agent should do instead");
  return text;
}

/** Reads one `--comment` and adds it to those before it. @throws CliError */
function collectComment(value: string, before: LineComment[] = []): LineComment[] {
  const [, path, minus, line, text] = /^(.+?):(-?)(\d{1,8}):\s*(.*\S)\s*$/s.exec(value) ?? [];
  if (path === undefined) {
    throw misused(`cannot read the comment "${value}"; write it as src/app.ts:12: text`);
  }
  const side = minus === "" ? "after" : "before";
  return [...before, { path, line: Number(line), side, text: text! }];
}

function misused(why: string): CliError {
  return new CliError(`Cannot reject: ${why}`, { next: "gate reject --help", exit: EXIT.usage });
}

/** Rejects what a session or everybody holds, project by project. */
async function rejectHeld(
  io: Io,
  connection: Connection,
  { session, project, reason }: { session?: string; project?: string; reason: string },
): Promise<RejectAllResult> {
  const { items } = await unwrap(
    connection.client.api.global.approvals.pending.$get({ query: {} }),
  );
  const held = items.filter((action) =>
    (project === undefined || action.project_id === project) &&
    (session === undefined || action.session_id === session)
  );
  const whole: RejectAllResult = { rejected: [], skipped: [] };
  const projects = [...new Set(held.map((action) => action.project_id))];
  sayStepBacks(io, await witness(io, connection, projects));
  for (const project_id of projects) {
    const actions = held.filter((action) => action.project_id === project_id);
    const { api } = scopedClient(connection, project_id);
    const action_ids = actions.map((action: Action) => action.id);
    const { rejected, skipped } = await unwrap(
      api.actions.reject.$post({ json: { action_ids, reason } }),
    );
    whole.rejected.push(...rejected);
    whole.skipped.push(...skipped);
  }
  return whole;
}

function printAll(io: Io, { rejected, skipped }: RejectAllResult): void {
  for (const action of rejected) printRejected(io, action);
  print(io, `${count(rejected.length, "action")} rejected.`);
  if (skipped.length > 0) print(io, `${count(skipped.length, "action")} had been decided before.`);
}

function printRejected(io: Io, action: Action): void {
  print(io, `${paint(io, "green", "✓")} rejected: ${summarize(action)}`);
}
