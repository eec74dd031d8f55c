import { Command, Option } from "@commander-js/extra-typings";
import type { Action, PermittedPlace } from "../../server/actions/schema.ts";
import { ProblemError } from "../../server/client.ts";
import { approve, type ApproveOptions } from "../actions/approve.ts";
import { Cards } from "../actions/cards.ts";
import { parseIdPrefix } from "../actions/find.ts";
import { CliError, EXIT, Exit, failureOf } from "../errors.ts";
import type { Io } from "../io.ts";
import { ACTION_ID, countBetween, parseSpan } from "../options.ts";
import { PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { printJson, sayFailure } from "../terminal/output.ts";

/** `gate approve <id...>`: approves held actions. */
export function createCommand(io: Io) {
  return new Command("approve")
    .description(
      "Approve held actions. The daemon executes a file change at once; the agent's process runs " +
        "a command. You prove with your passphrase that a person decides.",
    )
    .argument("<id...>", ACTION_ID, collectIdPrefix)
    .option("--reason <text>", "a note for the audit log")
    .option("--digest <sha256>", "approve only if the action still has this digest")
    .addOption(
      new Option("--remember [scope]", "also allow the same action without asking, for a while")
        .choices(["session", "project"] as const).preset("session" as const),
    )
    .option(
      "--ttl <time>",
      "with --remember: for how long, such as 90s, 15m, 1h or 7d (default: 1h)",
      parseSpan,
    )
    .option(
      "--max-uses <count>",
      "with --remember: how many times (default: 10)",
      countBetween(1, 10_000),
    )
    .option("--pattern <pattern>", "with --remember: all paths or commands that match this pattern")
    .option("-y, --yes", "with --remember: do not ask for confirmation")
    .option("--rebase", "if the file has changed since: apply the change to the current content")
    .option("-e, --edit", "edit the text or command in $VISUAL or $EDITOR, then approve the result")
    .option("--draft <file>", "with --edit: edit this file, such as one kept by a failed edit")
    .addOption(
      new Option("--permit <place...>", "let this run of a command change a guarded place")
        .choices(PLACES),
    )
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON; an array for several ids")
    .addHelpText("after", HELP)
    .action((ids, options) => approveAll(io, ids, options));
}

function collectIdPrefix(typed: string, before: string[] = []): string[] {
  return [...before, parseIdPrefix(typed)];
}

const PLACES: readonly PermittedPlace[] = [".git/config", ".git/hooks", ".husky"];

/** Approves one action after the other. A refused one does not stop the others. */
async function approveAll(
  io: Io,
  ids: string[],
  options: ApproveOptions & PassphraseOptions,
): Promise<void> {
  checkTogether(options, ids.length);
  const cards = new Cards(io, { isRead: !options.passphraseStdin });
  const connection = await openReview(io, { ...options, show: cards.show });
  if (ids.length > 1) await cards.readAll(connection, ids);
  const [id, ...others] = ids;
  if (others.length === 0) {
    const action = await approve(io, connection, id!, { ...options, cards });
    if (options.json) printJson(io, action);
    if (action.execution === "failed") throw new Exit(EXIT.failed);
    return;
  }
  const approved: Action[] = [];
  for (const one of ids) {
    try {
      approved.push(await approve(io, connection, one, { ...options, cards }));
    } catch (error) {
      // The other approvals would need the same proof, or nobody is there to confirm them.
      if (!(error instanceof ProblemError)) throw error;
      sayFailure(io, failureOf(error));
    }
  }
  if (options.json) printJson(io, approved);
  const isGood = approved.length === ids.length &&
    approved.every(({ execution }) => execution !== "failed");
  if (!isGood) throw new Exit(EXIT.failed);
}

function checkTogether(options: ApproveOptions, count: number): void {
  const { edit, draft, rebase, remember, digest, permit } = options;
  if (count > 1 && (edit || digest !== undefined)) throw misused(ONE_ONLY);
  if (edit && remember) throw misused(NOT_BOTH);
  if (permit && (edit || remember)) throw misused(PERMIT_ALONE);
  if (draft !== undefined && !edit) throw misused("Cannot use --draft without --edit");
  if (draft !== undefined && rebase) throw misused(STALE_DRAFT);
}

const ONE_ONLY = "Cannot use --edit or --digest with several ids: they are about one action";
const PERMIT_ALONE =
  "Cannot use --permit with --edit or --remember: it holds for one run of the agent's command";
const NOT_BOTH = "Cannot use --edit with --remember: an edited action is approved only once";
const STALE_DRAFT =
  "Cannot use --draft with --rebase: the draft does not contain the later changes of the file";

function misused(message: string): CliError {
  return new CliError(message, { next: "gate approve --help", exit: EXIT.usage });
}

const HELP = `
--remember creates a grant. It first shows what the grant would have allowed in the last 30 days.

--permit is for a command such as npm install whose package installs git hooks. Without it gate undoes
such a change and blocks the session.

--edit checks the edited result against the policy. An unchanged text is approved as it is. An empty
text leaves the action held. If the edit is refused, your text is kept in a file.

It shows each action and then asks for the passphrase once, also for several ids. Without a terminal
use --passphrase-stdin, and --digest with the digest that gate show has shown you.

Exits with 1 if an approval or an execution fails.

Examples:
  gate approve 0199a1b2
  gate approve 0199a1b2 0199a1b3
  gate approve 0199a1b2 --reason 'fixes the build'
  pass show gate | gate approve 0199a1b2 --passphrase-stdin
  gate show 0199a1b2 && gate approve 0199a1b2 --rebase
  EDITOR=vi gate approve 0199a1b2 --edit
  gate approve 0199a1b2 --permit .git/config .husky
  gate approve 0199a1b2 --remember
  gate approve 0199a1b2 --remember project --ttl 7d --max-uses 50 --pattern 'docs/**'
`;
