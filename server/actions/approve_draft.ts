import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type { Remember } from "../grants/schema.ts";
import { keepContents } from "./contents.ts";
import { commitApproval } from "./decide.ts";
import type { Draft } from "./draft.ts";
import type { Road } from "./enter.ts";
import { rememberApproval } from "./granted.ts";
import type { Judgement } from "./judge.ts";
import { actorOf, eventOf } from "./record.ts";
import { described } from "./rows.ts";
import type { ActionRow } from "./store.ts";

/** What is approved in place of what was asked, and what policy says of it. */
export interface Replacement {
  draft: Draft;
  judgement: Judgement;
  input: { reason?: string; remember?: Remember };
  caller: Caller;
}

/** Approves another version than was asked for. @throws GateError `conflict` where policy blocks it */
export async function approveDraft(
  road: Road,
  row: ActionRow,
  { draft, judgement, input, caller }: Replacement,
): Promise<ActionRow> {
  const { analysis, decision } = judgement;
  if (decision.effect === "deny") {
    const message = `Cannot approve the edited version: policy blocks it: ${decision.reason}`;
    throw new GateError("conflict", message, { fields: { decision } });
  }
  const made = described({ session: row, decision, analysis, draft });
  const remembering = input.remember &&
    await rememberApproval(road.services, { ...row, ...made }, input.remember, caller);
  const { after_sha256: content_sha256, command, digest } = row;
  return await commitApproval(road, row, {
    caller,
    reason: input.reason ?? null,
    remembering,
    edit: {
      fields: { ...made, edited: true, analysis, proposed: { content_sha256, command, digest } },
      statements: await keepContents(road.services, draft.contents),
      event: eventOf(row, "action.edited", actorOf(caller, row.agent), {
        from: row.digest,
        to: made.digest,
        command: made.command,
        before_sha256: made.before_sha256,
        sha256: made.after_sha256,
      }),
    },
  });
}
