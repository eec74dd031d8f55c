import type { Caller } from "../auth/schema.ts";
import type { NewEvent, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { accessOf, type AskedAction, decisionBy, findAnswering } from "../grants/answering.ts";
import { remember, type Remembering } from "../grants/remember.ts";
import type { Remember } from "../grants/schema.ts";
import { takeUse } from "../grants/store.ts";
import { createQuestion } from "../policy/grant.ts";
import { judge, type Judgement } from "./judge.ts";
import { BY_POLICY, eventOf } from "./record.ts";
import type { NewRow } from "./rows.ts";
import { type ActionServices, timestamp } from "./services.ts";
import type { ActionRow } from "./store.ts";

/** One use of a grant: the decision it makes, and what takes it in the same commit. */
export interface GrantUse {
  decision: NewRow["decision"];
  /** Takes the use where it is still to be had. */
  take: Statement;
  /** Holds where this very use was taken. */
  only: Statement;
  event: NewEvent;
}

/** An action as grants look at it. */
export function askedAction(
  { digest, session_id, plan }: Pick<NewRow, "digest" | "session_id" | "plan">,
  judgement: Judgement,
): AskedAction & { digest: string; session_id: string } {
  const { command = null, cwd = null, scripts = [] } = plan ?? {};
  const question = createQuestion({
    ...{ evaluation: judgement, command, cwd, around: judgement.around },
  });
  return { access: plan && accessOf(plan), digest, session_id, scripts, question };
}

/**
 * Makes a grant of an approval. @throws GateError `invalid` where it can answer nothing ahead of time,
 * `conflict` where it would be for a session that has ended
 */
export async function rememberApproval(
  services: ActionServices,
  row: ActionRow,
  wanted: Remember,
  caller: Caller,
): Promise<Remembering> {
  if (wanted.scope === "session") await requireOpen(services, row);
  const judgement = await judge(services, row.plan!);
  return await remember(services, { ...row, ...askedAction(row, judgement) }, wanted, caller);
}

async function requireOpen(services: ActionServices, { id, session_id }: ActionRow): Promise<void> {
  const { ended_at } = await services.sessions.get(session_id);
  if (ended_at === null) return;
  const message =
    "Cannot remember the approval for its session: that has ended, so nothing could " +
    `use it; approve it once, or remember it for the project (gate approve ${id} ` +
    "--remember project)";
  throw new GateError("conflict", message, { fields: { session_id, ended_at } });
}

/** A use of the grant that answers for this action; null where there is none. */
export async function findUse(
  services: ActionServices,
  row: NewRow,
  judgement: Judgement,
): Promise<GrantUse | null> {
  const now = timestamp(services.environment);
  const grant = await findAnswering(services.ledger, askedAction(row, judgement), now);
  if (!grant) return null;
  const { id, pattern, max_uses } = grant;
  const use = grant.uses + 1;
  return {
    decision: decisionBy(grant, use),
    ...takeUse(grant, { use_id: services.environment.id(), now }),
    event: eventOf(row, "grant.used", BY_POLICY, {
      ...{ grant_id: id, use, max_uses, pattern, digest: row.digest },
      asked: judgement.decision.reason,
    }),
  };
}
