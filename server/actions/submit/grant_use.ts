import type { Caller } from "../../auth/schema.ts";
import type { NewEvent, Statement } from "../../db/ledger.ts";
import { GateError } from "../../errors.ts";
import {
  decisionBy,
  findGrantFor,
  type GrantAccess,
  type GrantSubject,
} from "../../grants/matching.ts";
import { remember, type Remembering } from "../../grants/remember.ts";
import type { Remember } from "../../grants/schema.ts";
import { noteUse } from "../../grants/standing.ts";
import { takeUse } from "../../grants/store.ts";
import { createQuestion } from "../../policy/grant.ts";
import { type ActionServices, timestamp } from "../context.ts";
import type { ActionRow, NewRow } from "../store.ts";
import { BY_POLICY, eventOf } from "../transition.ts";
import { type ActionEvaluation, evaluateAgain } from "./evaluate.ts";
import { toolOf } from "../tools.ts";

/** One use of a grant: the decision that it makes, and the parts of its commit. */
interface GrantUse {
  decision: NewRow["decision"];
  /** Takes the use, if it is still available. */
  take: Statement;
  /** A condition: this use was taken. */
  only: Statement;
  event: NewEvent;
  /** After the commit. */
  note: () => void;
}

/** An action as grants see it. */
export function grantSubject(
  { digest, session_id, plan }: Pick<NewRow, "digest" | "session_id" | "plan">,
  evaluation: ActionEvaluation,
): GrantSubject & { digest: string; session_id: string } {
  const { command = null, cwd = null, scripts = [] } = plan ?? {};
  const question = createQuestion({ evaluation, command, cwd, around: evaluation.around });
  return { access: plan && accessOf(plan), digest, session_id, scripts, question };
}

/** One use of a grant that allows this action; null if there is no such grant. */
export async function findUse(
  services: ActionServices,
  row: NewRow,
  evaluation: ActionEvaluation,
): Promise<GrantUse | null> {
  const now = timestamp(services.environment);
  const grant = await findGrantFor(services, grantSubject(row, evaluation));
  if (!grant) return null;
  const { id, pattern, max_uses } = grant;
  const use = grant.uses + 1;
  return {
    decision: decisionBy(grant, use),
    note: () => noteUse(services.ledger, id, use),
    ...takeUse(grant, { use_id: services.environment.id(), now }),
    event: eventOf(row, "grant.used", BY_POLICY, {
      grant_id: id,
      use,
      max_uses,
      pattern,
      digest: row.digest,
      asked: evaluation.decision.reason,
    }),
  };
}

/**
 * Makes a grant of an approval. @throws GateError `invalid` if a grant cannot answer this question,
 * `conflict` if the grant is for a session that has ended
 */
export async function rememberApproval(
  services: ActionServices,
  row: ActionRow,
  wanted: Remember,
  caller: Caller,
): Promise<Remembering> {
  if (wanted.scope === "session") await requireOpen(services, row);
  const evaluation = await evaluateAgain(services, row);
  return await remember(services, { ...row, ...grantSubject(row, evaluation) }, wanted, caller);
}

async function requireOpen(services: ActionServices, { id, session_id }: ActionRow): Promise<void> {
  const { ended_at } = await services.sessions.get(session_id);
  if (ended_at === null) return;
  const message = "Cannot remember the approval for its session: the session has ended; " +
    `approve it once, or remember it for the project (gate approve ${id} --remember project)`;
  throw new GateError("conflict", message, { fields: { session_id, ended_at } });
}

/** The part of a plan that decides a grant's access. */
interface Planned {
  tool: string;
  command: string | null;
  accesses: readonly { access: "read" | "write" | "delete" }[];
  /** Set for a call of a host's own tool. */
  native?: unknown;
}

/** The one access of an action, which a pattern can allow; null if it has none or several. */
export function accessOf({ tool, command, accesses, native }: Planned): GrantAccess | null {
  if (command !== null) return accesses.length === 0 ? "run" : null;
  const { access } = toolOf(tool, native);
  if (access !== null) return access;
  const [first] = native ? accesses : [];
  if (!first) return null;
  return accesses.every(({ access }) => access === first.access) ? first.access : null;
}
