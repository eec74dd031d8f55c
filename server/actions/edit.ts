import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type { Analysis } from "../policy/schema.ts";
import { bytesOf } from "./asked.ts";
import { keepContents } from "./contents.ts";
import { commitApproval, loadPending } from "./decide.ts";
import { type Draft, newState } from "./draft.ts";
import { judge, type Judgement } from "./judge.ts";
import type { Plan } from "./plan.ts";
import { recheck } from "./recheck.ts";
import { actorOf, eventOf, requireReviewer } from "./record.ts";
import { described } from "./rows.ts";
import type { ApproveWithEditInput } from "./schema.ts";
import { scriptsOf } from "./scripts.ts";
import type { ActionRow } from "./store.ts";
import type { Road } from "./enter.ts";
import { widenedBy } from "./widening.ts";

/** Approves what a reviewer made of it; the edited version passes policy like any other. */
export async function approveWithEdit(
  road: Road,
  id: string,
  input: ApproveWithEditInput,
  caller: Caller,
): Promise<ActionRow> {
  requireReviewer(caller, "approve");
  const row = await loadPending(road, id, "approve", input.expected_digest);
  await recheck(road.services, row);
  const { draft, judgement } = await edited(road, row, input);
  const { analysis, decision } = judgement;
  if (decision.effect === "deny") {
    const message = `Cannot approve the edited version: policy blocks it: ${decision.reason}`;
    throw new GateError("conflict", message, { fields: { decision } });
  }
  const made = described({ session: row, decision, analysis, draft });
  const { content_sha256, command } = { content_sha256: row.after_sha256, command: row.command };
  return await commitApproval(road, row, {
    caller,
    reason: input.reason ?? null,
    edit: {
      fields: {
        ...made,
        edited: true,
        analysis,
        proposed: { content_sha256, command, digest: row.digest },
      },
      statements: await keepContents(road.services, draft.contents),
      event: eventOf(row, "action.edited", actorOf(caller, row.agent), {
        from: row.digest,
        to: made.digest,
        command: made.command,
        sha256: made.after_sha256,
      }),
    },
  });
}

interface Edited {
  draft: Draft;
  judgement: Judgement;
}

async function edited(road: Road, row: ActionRow, input: ApproveWithEditInput): Promise<Edited> {
  const { content, command, encoding } = input;
  const isCommand = row.tool === "run_command";
  const isText = row.tool === "write_file" || row.tool === "edit_file";
  if (isCommand && command !== undefined && content === undefined) {
    return await editedCommand(road, row, command);
  }
  if (isText && content !== undefined && command === undefined) {
    return await editedContent(road, row, bytesOf(content, encoding));
  }
  const what = isCommand ? '"command"' : isText ? '"content"' : "neither content nor command";
  throw new GateError("invalid", `Cannot edit a ${row.tool}: an edit of it takes ${what}`);
}

async function editedContent(road: Road, row: ActionRow, content: Uint8Array): Promise<Edited> {
  const plan = row.plan!;
  const [change] = plan.changes;
  const after = newState(content, change!.after?.mode ?? null);
  const draft: Draft = {
    plan: { ...plan, changes: [{ ...change!, after: after.state }] },
    contents: [{ sha256: after.state.sha256, content }],
    irreversible: row.reversible ? null : "what the file holds now is larger than maxBlobBytes",
  };
  return { draft, judgement: await judge(road.services, plan) };
}

async function editedCommand(road: Road, row: ActionRow, command: string): Promise<Edited> {
  if (!command.isWellFormed() || command.includes("\0")) {
    throw new GateError("invalid", "Cannot run the edited command: it is not well-formed text");
  }
  const asked: Plan = { ...row.plan!, command, input: { ...row.plan!.input, command } };
  const judgement = await judge(road.services, asked);
  const widened = widenedBy(row.analysis ?? NOTHING, judgement.analysis ?? NOTHING, row.cwd!);
  if (widened !== null) {
    const message = `Cannot approve the edited command: it does more than what was asked for: ` +
      `${widened}; reject it and say in the reason what to run instead`;
    throw new GateError("invalid", message);
  }
  const plan = { ...asked, scripts: await scriptsOf(judgement.analysis, row.cwd!) };
  return { draft: { plan, contents: [], irreversible: null }, judgement };
}

const NOTHING: Analysis = { commands: [], reads: [], writes: [], deletes: [], unresolved: [] };
