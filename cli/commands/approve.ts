import { Command, Option } from "@commander-js/extra-typings";
import type { Action, PermittedPlace } from "../../server/actions/schema.ts";
import type { OpenWall } from "../../server/sandbox/schema.ts";
import { ProblemError } from "../../server/client.ts";
import { approve, type ApproveOptions } from "../actions/approve.ts";
import { Cards } from "../actions/cards.ts";
import { approveSeveral, type Decided } from "../actions/decide_several.ts";
import { collectDigest, collectIdPrefix } from "../actions/find.ts";
import type { Connection } from "../daemon/connect.ts";
import { CliError, EXIT, Exit, failureOf } from "../errors.ts";
import type { Io } from "../io.ts";
import { ACTION_ID, countBetween, parseSpan } from "../options.ts";
import { AS, PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { parseWall } from "../sandbox/walls.ts";
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
    .option("--confirm <text>", "the text that gate asks to type for an action of critical risk")
    .option(
      "--digest <sha256>",
      "approve only if the action still has this digest; once for each id, in their order",
      collectDigest,
    )
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
    .option("--take <path...>", "of changes of a command: take over these files and no others")
    .option(
      "--open <wall...>",
      "run the command in the sandbox with this wall open: host:<name>, write:<folder>, read:<file>",
      (typed: string, before: OpenWall[] = []) => [...before, parseWall(typed)],
    )
    .addOption(
      new Option("--for <span>", "with --open: for this run or for the session (default: once)")
        .choices(["once", "session"] as const),
    )
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON; an array for several ids")
    .addHelpText("after", HELP)
    .action((ids, options) => approveAll(io, ids, options));
}

const PLACES: readonly PermittedPlace[] = [".git/config", ".git/hooks", ".husky"];

type Options = Omit<ApproveOptions, "digest"> & PassphraseOptions & {
  digest?: string[];
  as?: string;
};

/** Approves the named actions. A refused one does not stop the others. */
async function approveAll(io: Io, ids: string[], { digest, ...options }: Options): Promise<void> {
  checkTogether({ ...options, digest }, ids.length);
  const cards = new Cards(io, { isRead: !options.passphraseStdin });
  const connection = await openReview(io, { ...options, show: cards.show });
  const [id, ...others] = ids;
  if (others.length === 0) {
    const one = { ...options, ...digest && { digest: digest[0]! }, cards };
    const action = await approve(io, connection, id!, one);
    if (options.json) printJson(io, action);
    if (action.execution === "failed") throw new Exit(EXIT.failed);
    return;
  }
  const { reason, json } = options;
  const { actions, refused } = needsEach(options)
    ? await approveEach(io, connection, ids, { ...options, cards })
    : await approveSeveral(io, connection, { ids, digests: digest, reason, cards, json });
  if (json) printJson(io, actions);
  const isFailed = actions.some(({ execution }) => execution === "failed");
  if (refused > 0 || isFailed) throw new Exit(EXIT.failed);
}

/** Whether each action is asked about alone, because of what its approval adds. */
function needsEach(
  { remember, permit, rebase }: Pick<ApproveOptions, "remember" | "permit" | "rebase">,
): boolean {
  return remember !== undefined || permit !== undefined || rebase === true;
}

async function approveEach(
  io: Io,
  connection: Connection,
  ids: string[],
  options: ApproveOptions & { cards: Cards },
): Promise<Decided> {
  await options.cards.readAll(connection, ids);
  const actions: Action[] = [];
  for (const one of ids) {
    try {
      actions.push(await approve(io, connection, one, options));
    } catch (error) {
      // The other approvals would need the same proof, or nobody is there to confirm them.
      if (!(error instanceof ProblemError)) throw error;
      sayFailure(io, failureOf(error));
    }
  }
  return { actions, refused: ids.length - actions.length };
}

function checkTogether(options: Omit<Options, keyof PassphraseOptions>, count: number): void {
  const { edit, draft, rebase, remember, digest, permit, confirm, take, open } = options;
  if (take && (count > 1 || edit || rebase || remember || permit)) throw misused(TAKE_ALONE);
  if (count > 1 && (edit || confirm !== undefined)) throw misused(ONE_ONLY);
  if (digest !== undefined && digest.length !== count) throw misused(ONE_EACH);
  if (count > 1 && digest && needsEach(options)) throw misused(DIGESTS_ALONE);
  if (edit && remember) throw misused(NOT_BOTH);
  if (permit && (edit || remember)) throw misused(PERMIT_ALONE);
  if (open && (count > 1 || edit || remember || permit || rebase || take)) {
    throw misused(OPEN_ALONE);
  }
  if (options.for !== undefined && !open) throw misused("Cannot use --for without --open");
  if (draft !== undefined && !edit) throw misused("Cannot use --draft without --edit");
  if (draft !== undefined && rebase) throw misused(STALE_DRAFT);
}

const ONE_ONLY = "Cannot use --edit or --confirm with several ids: they are about one action";
const ONE_EACH = "Cannot use --digest: give it once for each id, in the order of the ids";
const DIGESTS_ALONE =
  "Cannot use --digest with several ids and --remember, --permit or --rebase: give one id";
const PERMIT_ALONE =
  "Cannot use --permit with --edit or --remember: it holds for one run of the agent's command";
const TAKE_ALONE =
  "Cannot use --take with several ids, --edit, --rebase, --remember or --permit: it names files of " +
  "one action";
const OPEN_ALONE =
  "Cannot use --open with several ids, --edit, --remember, --permit, --take or --rebase: it is about " +
  "one run";
const NOT_BOTH = "Cannot use --edit with --remember: an edited action is approved only once";
const STALE_DRAFT =
  "Cannot use --draft with --rebase: the draft does not contain the later changes of the file";

function misused(message: string): CliError {
  return new CliError(message, { next: "gate approve --help", exit: EXIT.usage });
}

const HELP = `
--remember creates a grant. It first shows what the grant would have allowed in the last 30 days.

--permit is for a command such as npm install whose package installs git hooks. Without it gate
undoes such a change and blocks the session.

--take is for apply_changes: a command worked on a copy of the project (sandbox.mode "review"), and
its changes wait. gate show lists the files. The files that you do not name stay as they are.

--open is for a command that failed on a wall of the sandbox: it runs in the sandbox with that wall
open. A place that a rule blocks stays closed.

--edit checks the edited result against the policy. An unchanged text is approved as it is. An empty
text leaves the action held. If the edit is refused, your text is kept in a file.

It shows each action and then asks for the passphrase once, also for several ids. One signature for
each of them goes in one request; each id has an outcome of its own. Without a terminal use
--passphrase-stdin, and --digest with the digest that gate show has shown you.

With --as, a member of the team decides at this terminal. Their key signs: the decision is theirs.

Exits with 1 if an approval or an execution fails.

Examples:
  gate approve 0199a1b2
  gate approve 0199a1b2 0199a1b3
  gate approve 0199a1b2 --as ann
  gate approve 0199a1b2 --reason 'fixes the build'
  pass show gate | gate approve 0199a1b2 --passphrase-stdin
  gate show 0199a1b2 && gate approve 0199a1b2 --rebase
  EDITOR=vi gate approve 0199a1b2 --edit
  gate approve 0199a1b2 --permit .git/config .husky
  gate approve 0199a1b2 --take src/a.ts src/b.ts
  gate approve 0199a1b2 --open host:registry.example --for session
  gate approve 0199a1b2 --remember
  gate approve 0199a1b2 --remember project --ttl 7d --max-uses 50 --pattern 'docs/**'
`;
