import { Command, Option } from "@commander-js/extra-typings";
import { resolve } from "node:path";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { findAction, parseIdPrefix } from "../actions/find.ts";
import { standing, summarize, waitsForAgent } from "../actions/view.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { type Edit, editProposed } from "../actions/edit.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { chooseRemember, type RememberOptions } from "../actions/remember.ts";
import { quoted } from "../hosts/hook_plan.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { countBetween, parseSpan } from "../options.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate approve <id>`: lets a held action happen. */
export function createCommand(io: Io) {
  return new Command("approve")
    .description("Approve what is held: it happens at once.")
    .argument("<id>", "its id, or a beginning of it that no other action shares", parseIdPrefix)
    .option("--reason <text>", "kept in the audit log")
    .option("--digest <sha256>", "approve only if it still is what this digest names")
    .addOption(
      new Option("--remember [scope]", "allow the same again without asking, for a while")
        .choices(["session", "project"] as const).preset("session" as const),
    )
    .option("--ttl <time>", "how long it is remembered, 1h unless said", parseSpan)
    .option("--max-uses <count>", "how often, 10 unless said", countBetween(1, 10_000))
    .option("--pattern <pattern>", "a path or command pattern, not only exactly this")
    .option("-y, --yes", "remember without asking once more")
    .option("--rebase", "where its file has changed since: on top of what stands there now")
    .option("-e, --edit", "open the text or command in $VISUAL or $EDITOR, approve what is left")
    .option(
      "--draft <file>",
      "with --edit: go on in this file, such as one kept when it was refused",
    )
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action((id, options) => approve(io, id, options));
}

interface ApproveOptions extends RememberOptions {
  reason?: string;
  digest?: string;
  rebase?: true;
  edit?: true;
  draft?: string;
  json?: true;
}

async function approve(io: Io, prefix: string, options: ApproveOptions): Promise<void> {
  const { reason, digest, rebase, edit } = options;
  checkTogether(options);
  const connection = await openConnection(io, { scope: "reviewer" });
  const found = await findAction(connection.client, prefix);
  const client = scopedClient(connection, found.project_id);
  const routes = client.api.actions[":id"];
  const param = { id: found.id };
  const detail = rebase || edit ? await unwrap(routes.$get({ param })) : null;
  const given = {
    expected_digest: digest ?? found.digest,
    ...reason && { reason },
    ...rebase && baseOf(detail!),
  };
  const remember = await chooseRemember(io, client, found, options);
  const decide = async (edited: Edit | null) => {
    const action = await unwrap(
      edited
        ? routes["approve-with-edit"].$post({ param, json: { ...given, ...edited } })
        : routes.approve.$post({ param, json: { ...given, ...remember && { remember } } }),
    );
    return { action, is_edited: edited !== null };
  };
  const { action, is_edited } = edit
    ? await editOn(io, detail!, options, decide)
    : await decide(null);
  if (options.json) printJson(io, action);
  else showApproved(io, action, { is_edited, is_remembered: !!remember });
  if (action.execution === "failed") throw new Exit(EXIT.failed);
}

function checkTogether({ edit, draft, rebase, remember }: ApproveOptions): void {
  if (edit && remember) throw misused(NOT_BOTH);
  if (draft !== undefined && !edit) throw misused("Give --draft together with --edit");
  if (draft !== undefined && rebase) throw misused(STALE_DRAFT);
}

const NOT_BOTH =
  "Give either --edit or --remember: what a person has changed is approved this once";
const STALE_DRAFT = "Give either --draft or --rebase: " +
  "a draft knows nothing of what others have made of the file since";

function misused(message: string): CliError {
  return new CliError(message, { next: "gate approve --help", exit: EXIT.usage });
}

function baseOf({ id, base }: ActionDetail): { base_sha256: string | null } {
  if (base) return { base_sha256: base.now_sha256 };
  const why = `Cannot approve action "${id}" on another base: its file has not changed since`;
  throw new CliError(why, { next: `gate approve ${id}` });
}

async function editOn<T>(
  io: Io,
  detail: ActionDetail,
  { rebase, draft, reason }: ApproveOptions,
  use: (edit: Edit | null) => Promise<T>,
): Promise<T> {
  const { id, base } = detail;
  if (base?.rebased === null) {
    const why = "it does not fit what others have made of its file since";
    throw new CliError(`Cannot edit action "${id}" on what stands there now: ${why}`, {
      next: `gate dashboard shows both; or gate reject ${id} --reason 'read the file again'`,
    });
  }
  if (base && !rebase) {
    throw new CliError(`Cannot edit action "${id}": its file has changed since it was asked`, {
      next: `gate show ${id}, then gate approve ${id} --edit --rebase`,
    });
  }
  return await editProposed(io, detail, {
    ...draft !== undefined && { draft: resolve(io.cwd, draft) },
    use,
    again: (file, error) => {
      const { current_status = "pending", now_sha256 } = fieldsOf(error);
      if (current_status !== "pending") return `gate show ${id}`;
      const said = reason === undefined ? "" : ` --reason ${quoted(reason)}`;
      const isMoved = rebase || now_sha256 !== undefined;
      return `gate approve ${id} --edit${
        isMoved ? " --rebase" : ` --draft ${quoted(file)}`
      }${said}`;
    },
  });
}

function fieldsOf(error: unknown): Record<string, unknown> {
  return error instanceof ProblemError ? error.problem : {};
}

interface How {
  is_edited: boolean;
  is_remembered: boolean;
}

function showApproved(io: Io, action: Action, { is_edited, is_remembered }: How): void {
  const isFailed = action.execution === "failed";
  const said = isFailed ? "approved, but carrying it out failed" : standing(action);
  const mark = isFailed ? paint(io, "red", "✗") : paint(io, "green", "✓");
  print(io, `${mark} ${said}${is_edited ? ", edited" : ""}: ${summarize(action)}`);
  if (action.error !== null) say(io, `  ${visibleLine(action.error)}`);
  if (waitsForAgent(action)) say(io, "  the agent runs it when it comes for the answer");
  if (is_remembered) say(io, "  remembered; gate grant list shows it, gate grant revoke ends it");
}

const HELP = `
What is remembered is shown first, with what it would have allowed in the last 30 days. An edit
passes the policy like what was asked; a text that is left as it was is approved as it is, and one
that is emptied decides nothing. What was typed is kept in a file where it is refused. Exit 1 also
where it was approved and could not be carried out.

Examples:
  gate approve 0199a1b2
  gate approve 0199a1b2 --reason 'fixes the build'
  gate show 0199a1b2 && gate approve 0199a1b2 --rebase
  EDITOR=vi gate approve 0199a1b2 --edit
  gate approve 0199a1b2 --remember
  gate approve 0199a1b2 --remember project --ttl 7d --max-uses 50 --pattern 'docs/**'
`;
