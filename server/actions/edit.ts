import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type { Analysis } from "../policy/schema.ts";
import { approveDraft } from "./approve_draft.ts";
import { bytesOf } from "./asked.ts";
import { loadPending } from "./decide.ts";
import { type Draft, drawCommand, newState } from "./draft.ts";
import { judge, type Judgement } from "./judge.ts";
import type { Plan } from "./plan.ts";
import { approveOn, onSeenBase } from "./rebase.ts";
import { recheck } from "./recheck.ts";
import { requireReviewer } from "./record.ts";
import type { ApproveWithEditInput } from "./schema.ts";
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
  if (input.base_sha256 !== undefined) return await approveOnBase(road, row, input, caller);
  await recheck(road.services, row);
  const { draft, judgement } = await edited(road, row, input);
  return await approveDraft(road, row, { draft, judgement, input, caller });
}

/** The file has changed since: what is written is the reviewer's own, on top of what they saw. */
async function approveOnBase(
  road: Road,
  row: ActionRow,
  input: ApproveWithEditInput,
  caller: Caller,
): Promise<ActionRow> {
  const { content, encoding, command, base_sha256 = null } = input;
  const isText = row.tool === "write_file" || row.tool === "edit_file";
  if (!isText || content === undefined || command !== undefined) {
    throw new GateError("invalid", `Cannot edit a ${row.tool} on another base without "content"`);
  }
  const rebased = await onSeenBase(road.services, row, base_sha256);
  const after = newState(bytesOf(content, encoding), rebased.change.after?.mode ?? null);
  return await approveOn(road, row, { rebased, after, input, caller });
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
  const { analysis, limits } = judgement;
  const draft = await drawCommand(road.services, row.root, { asked, analysis, limits });
  return { draft, judgement };
}

const NOTHING: Analysis = { commands: [], reads: [], writes: [], deletes: [], unresolved: [] };
