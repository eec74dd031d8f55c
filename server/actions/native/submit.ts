import type { Caller } from "../../auth/schema.ts";
import type { Session } from "../../sessions/schema.ts";
import { commitClaim } from "../command.ts";
import { enter, type Road } from "../enter.ts";
import { refuse } from "../execute.ts";
import { judge } from "../judge.ts";
import { recheck } from "../recheck.ts";
import { loadAction, notPossible, requireNotViewer } from "../record.ts";
import { blockedDraft } from "../rows.ts";
import type { ActionRow } from "../store.ts";
import { type NativeCall, readNative } from "./call.ts";
import { drawNative } from "./draw.ts";

/** An action as it was entered; an equal one that is still open stands for the new one. */
interface Entered {
  row: ActionRow;
  is_own: boolean;
}

/** Checks and records what a host's own tool is about to do; null where nothing speaks of it. */
export async function submitNative(
  road: Road,
  session: Session,
  call: NativeCall,
  caller: Caller,
): Promise<Entered | null> {
  requireNotViewer(caller, "submit an action");
  const id = road.services.environment.id();
  const asked = readNative(call, session.root, id);
  const judgement = await judge(road.services, asked, call.input);
  const { decision, analysis, limits } = judgement;
  if (call.is_quiet && decision.rule === null) return null;
  const draft = decision.effect === "deny"
    ? blockedDraft(asked)
    : await drawNative(asked, call, analysis, limits);
  const parts = { session, decision, analysis, draft };
  const { row } = await enter(road, judgement, caller, parts);
  return { row, is_own: row.plan?.native?.id === id };
}

/**
 * Gives what a person has approved to the one call that is going to do it.
 * @throws GateError `conflict` where it was given to another one, or is not what it was
 */
export async function claimNative(
  road: Road,
  row: ActionRow,
  key: string | null,
  caller: Caller,
): Promise<ActionRow> {
  try {
    await recheck(road.services, row);
  } catch (error) {
    // It must never happen now, so it does not stay open: whoever wanted it asks again.
    await refuse(road.services, row, error instanceof Error ? error.message : String(error));
    throw error;
  }
  const claimed = await commitClaim(road, row, {}, { by: key ?? "", caller });
  if (claimed) return claimed;
  const current = await loadAction(road.services, row.id);
  throw notPossible(current, "use the approval of", "another call has used it already");
}
