import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Action, ActionDetail, PermittedPlace } from "../../server/actions/schema.ts";
import type { OpenWall } from "../../server/sandbox/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import type { Connection } from "../daemon/connect.ts";
import { CliError, EXIT } from "../errors.ts";
import { quote } from "../../server/shown/quote.ts";
import { type Io, isInteractive } from "../io.ts";
import { paint, print, say } from "../terminal/output.ts";
import { isTyped } from "../terminal/prompts.ts";
import { visibleLine } from "../terminal/visible.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";
import type { Cards } from "./cards.ts";
import { type Edit, editProposed } from "./edit.ts";
import { sayElsewhere, waitsElsewhere } from "./elsewhere.ts";
import { openAction } from "./find.ts";
import { acceptApproved } from "./accept_config.ts";
import { chooseRemember, type RememberOptions } from "./remember.ts";
import { approvalsLine, statusOf, summarize, waitsForAgent, waitsForHost } from "./view.ts";

/** How an action is approved. */
export interface ApproveOptions extends RememberOptions {
  reason?: string;
  digest?: string;
  rebase?: true;
  edit?: true;
  draft?: string;
  permit?: PermittedPlace[];
  /** Of changes of a command: the files to take over, and no others. */
  take?: string[];
  /** The walls of the sandbox that it opens, and for how long. */
  open?: OpenWall[];
  for?: "once" | "session";
  /** The text that the action asks to type. */
  confirm?: string;
  json?: true;
}

/** Approves one action and prints the result unless `--json` is given. */
export async function approve(
  io: Io,
  connection: Connection,
  prefix: string,
  options: ApproveOptions & { cards: Cards },
): Promise<Action> {
  const { reason, digest, rebase, edit, permit, take, cards } = options;
  const open = options.open && { walls: options.open, for: options.for ?? "once" as const };
  const { found, client, one, param } = await openAction(connection, prefix);
  const detail = await unwrap(one.$get({ param }));
  await cards.add(detail);
  const confirm = await confirmationFor(io, detail, options);
  const given = {
    ...confirm !== null && { confirm },
    expected_digest: digest ?? detail.digest,
    ...reason && { reason },
    ...rebase && baseOf(detail),
  };
  sayStepBacks(io, await witness(io, connection, [found.project_id]));
  const remember = await chooseRemember(io, client, found, options);
  const decide = async (edited: Edit | { take: string[] } | null) => {
    const action = await unwrap(
      edited
        ? one["approve-with-edit"].$post({ param, json: { ...given, ...edited } })
        : one.approve.$post({
          param,
          json: {
            ...given,
            ...remember && { remember },
            ...permit && { permit },
            ...open && { open },
          },
        }),
    );
    return { action, edited };
  };
  const { action, edited } = edit
    ? await editOn(io, detail, options, decide)
    : await decide(take ? { take } : null);
  if (!options.json) {
    const now = await unwrap(one.$get({ param }));
    const after = await untilBegun(now, () => unwrap(one.$get({ param })));
    showApproved(io, after, { is_edited: edited !== null, is_remembered: !!remember });
    await sayElsewhere(io, connection, after);
  }
  const content = edited && "content" in edited ? edited.content : null;
  await acceptApproved(io, client, { detail, action, edited: content });
  return action;
}

/** The text that the person typed for this action; null if it asks for none. @throws CliError */
export async function confirmationFor(
  io: Io,
  { id, confirmation, risk }: ActionDetail,
  { confirm, cards }: Pick<ApproveOptions, "confirm"> & { cards: Cards },
): Promise<string | null> {
  if (confirmation === null || confirm !== undefined) return confirm ?? null;
  const wanted = visibleLine(confirmation);
  const why = `its risk is ${risk.level}, so a person types "${wanted}"`;
  if (!isInteractive(io)) {
    throw new CliError(`Cannot approve action "${id}": ${why}`, {
      next: `gate show ${id}, then the same command with --confirm ${quote(wanted)}`,
      exit: EXIT.usage,
    });
  }
  cards.show();
  if (await isTyped(io, `Its risk is ${risk.level}. Type ${wanted} to approve it`, confirmation)) {
    return confirmation;
  }
  throw new CliError(`Cannot approve action "${id}": you did not type "${wanted}"`);
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
      const again = reason === undefined ? "" : ` --reason ${quote(reason)}`;
      const isMoved = rebase || now_sha256 !== undefined;
      return `gate approve ${id} --edit${
        isMoved ? " --rebase" : ` --draft ${quote(file)}`
      }${again}`;
    },
  });
}

function fieldsOf(error: unknown): Record<string, unknown> {
  return error instanceof ProblemError ? error.problem : {};
}

const BEGIN_MS = 1_500;
/** Each machine hears of the other within a second. */
const BEGIN_ELSEWHERE_MS = 4_000;
const PAUSE_MS = 50;

/** The action after its host, or the machine of its agent, had time to begin with it. */
export async function untilBegun(
  detail: ActionDetail,
  look: () => Promise<ActionDetail>,
): Promise<ActionDetail> {
  const deadline = performance.now() + (waitsElsewhere(detail) ? BEGIN_ELSEWHERE_MS : BEGIN_MS);
  let seen = detail;
  while ((waitsForHost(seen) || waitsElsewhere(seen)) && performance.now() < deadline) {
    await sleep(PAUSE_MS);
    seen = await look();
  }
  return seen;
}

interface How {
  is_edited: boolean;
  is_remembered: boolean;
}

/** Prints the outcome of an approval. */
export function showApproved(
  io: Io,
  action: ActionDetail,
  { is_edited, is_remembered }: How,
): void {
  if (action.status === "pending" && action.approvals) {
    const what = is_edited ? "your version is recorded" : "your approval is recorded";
    print(io, `${paint(io, "green", "✓")} ${what}: ${summarize(action)}`);
    return say(io, `  ${visibleLine(approvalsLine(action.approvals))}`);
  }
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
