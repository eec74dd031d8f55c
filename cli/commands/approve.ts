import { Command, Option } from "@commander-js/extra-typings";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Action, ActionDetail, PermittedPlace } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { openAction, parseIdPrefix } from "../actions/find.ts";
import { checkShown } from "../../server/actions/show/check_shown.ts";
import { actionCard, statusOf, summarize, waitsForAgent, waitsForHost } from "../actions/view.ts";
import type { Connection } from "../daemon/connect.ts";
import { acceptApproved } from "../actions/accept_config.ts";
import { type Edit, editProposed } from "../actions/edit.ts";
import { CliError, EXIT, Exit, failureOf } from "../errors.ts";
import { chooseRemember, type RememberOptions } from "../actions/remember.ts";
import { quoted } from "../hosts/hook_plan.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say, sayFailure } from "../terminal/output.ts";
import { ACTION_ID, countBetween, parseSpan } from "../options.ts";
import { PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { visibleLine } from "../terminal/visible.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";

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

interface ApproveOptions extends RememberOptions, PassphraseOptions {
  reason?: string;
  digest?: string;
  rebase?: true;
  edit?: true;
  draft?: string;
  permit?: PermittedPlace[];
  json?: true;
}

const PLACES: readonly PermittedPlace[] = [".git/config", ".git/hooks", ".husky"];

/** Approves one action after the other. A refused one does not stop the others. */
async function approveAll(io: Io, ids: string[], options: ApproveOptions): Promise<void> {
  checkTogether(options, ids.length);
  const cards = new Cards(io, options);
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

/** Approves one action and prints the result unless `--json` is given. */
async function approve(
  io: Io,
  connection: Connection,
  prefix: string,
  options: ApproveOptions & { cards: Cards },
): Promise<Action> {
  const { reason, digest, rebase, edit, permit, cards } = options;
  const { found, client, one, param } = await openAction(connection, prefix);
  const detail = await unwrap(one.$get({ param }));
  await cards.add(detail);
  const given = {
    expected_digest: digest ?? detail.digest,
    ...reason && { reason },
    ...rebase && baseOf(detail),
  };
  sayStepBacks(io, await witness(io, connection, [found.project_id]));
  const remember = await chooseRemember(io, client, found, options);
  const decide = async (edited: Edit | null) => {
    const action = await unwrap(
      edited
        ? one["approve-with-edit"].$post({ param, json: { ...given, ...edited } })
        : one.approve.$post({
          param,
          json: { ...given, ...remember && { remember }, ...permit && { permit } },
        }),
    );
    return { action, edited };
  };
  const { action, edited } = edit ? await editOn(io, detail, options, decide) : await decide(null);
  if (!options.json) {
    const open = await unwrap(one.$get({ param }));
    const after = await untilHostRuns(open, () => unwrap(one.$get({ param })));
    showApproved(io, after, { is_edited: edited !== null, is_remembered: !!remember });
  }
  const content = edited && "content" in edited ? edited.content : null;
  await acceptApproved(io, client, { detail, action, edited: content });
  return action;
}

/** The actions of this command as a person sees them before they sign. */
class Cards {
  readonly #io: Io;
  readonly #isRead: boolean;
  readonly #open = new Map<string, ActionDetail>();
  readonly #shown = new Map<string, string>();

  constructor(io: Io, { passphraseStdin }: PassphraseOptions) {
    this.#io = io;
    this.#isRead = !passphraseStdin;
  }

  /** Takes an action whose digest covers what its card shows. @throws NotSigned for any other */
  async add(detail: ActionDetail): Promise<void> {
    if (detail.status === "pending") await checkShown(detail);
    if (this.#shown.get(detail.id) !== detail.digest) this.#open.set(detail.id, detail);
  }

  /** Reads several actions, so that all cards stand before the one question. */
  async readAll(connection: Connection, ids: string[]): Promise<void> {
    for (const id of ids) {
      try {
        const { one, param } = await openAction(connection, id);
        await this.add(await unwrap(one.$get({ param })));
      } catch (error) {
        // Its approval fails in the same way, and says so then.
        if (!(error instanceof ProblemError || error instanceof CliError)) throw error;
      }
    }
  }

  /** Prints the cards that were not printed yet, because the person signs one of them now. */
  readonly show = (): void => {
    for (const detail of this.#open.values()) {
      if (this.#isRead) say(this.#io, `\n${actionCard(this.#io, detail, Date.now())}\n`);
      this.#shown.set(detail.id, detail.digest);
    }
    this.#open.clear();
  };
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

function baseOf({ id, base }: ActionDetail): { base_sha256: string | null } {
  if (base) return { base_sha256: base.now_sha256 };
  const why = "it is not a held file change, or its file has not changed or cannot be read";
  throw new CliError(`Cannot rebase action "${id}": ${why}`, { next: `gate show ${id}` });
}

async function editOn<T>(
  io: Io,
  detail: ActionDetail,
  { rebase, draft, reason }: ApproveOptions,
  use: (edit: Edit | null) => Promise<T>,
): Promise<T> {
  const { id, base } = detail;
  if (base?.rebased === null) {
    const why = "its change conflicts with the current content of the file";
    throw new CliError(`Cannot rebase action "${id}": ${why}`, {
      next: `gate dashboard, to merge both; or gate reject ${id} --reason 'read the file again'`,
    });
  }
  if (base && !rebase) {
    throw new CliError(`Cannot edit action "${id}": its file has changed since it was held`, {
      next: `gate show ${id}, then gate approve ${id} --edit --rebase`,
    });
  }
  return await editProposed(io, detail, {
    ...draft !== undefined && { draft: resolve(io.cwd, draft) },
    use,
    again: (file, error) => {
      const { current_status = "pending", now_sha256 } = fieldsOf(error);
      if (current_status !== "pending") return `gate show ${id}`;
      const again = reason === undefined ? "" : ` --reason ${quoted(reason)}`;
      const isMoved = rebase || now_sha256 !== undefined;
      return `gate approve ${id} --edit${
        isMoved ? " --rebase" : ` --draft ${quoted(file)}`
      }${again}`;
    },
  });
}

function fieldsOf(error: unknown): Record<string, unknown> {
  return error instanceof ProblemError ? error.problem : {};
}

const HOST_MS = 1_500;
const PAUSE_MS = 50;

/** The action after its hook had time to answer its host, if it still waits. */
async function untilHostRuns(
  detail: ActionDetail,
  look: () => Promise<ActionDetail>,
): Promise<ActionDetail> {
  const deadline = performance.now() + HOST_MS;
  let seen = detail;
  while (waitsForHost(seen) && performance.now() < deadline) {
    await sleep(PAUSE_MS);
    seen = await look();
  }
  return seen;
}

interface How {
  is_edited: boolean;
  is_remembered: boolean;
}

function showApproved(io: Io, action: ActionDetail, { is_edited, is_remembered }: How): void {
  const isFailed = action.execution === "failed";
  const status = isFailed ? "approved, but the execution failed" : statusOf(action);
  const mark = isFailed ? paint(io, "red", "✗") : paint(io, "green", "✓");
  print(io, `${mark} ${status}${is_edited ? ", edited" : ""}: ${summarize(action)}`);
  if (action.error !== null) say(io, `  ${visibleLine(action.error)}`);
  if (waitsForHost(action)) {
    say(io, "  Nothing runs: the call that asked no longer waits.");
    say(io, "  Next: tell the agent to make exactly the same call again; it goes through once.");
  } else if (waitsForAgent(action)) say(io, "  the agent runs it when it asks for the result");
  if (is_remembered) say(io, "  remembered; gate grant list shows it, gate grant revoke ends it");
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
