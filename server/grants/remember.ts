import type { Caller } from "../auth/schema.ts";
import type { Environment } from "../environment.ts";
import type { Ledger, NewEvent, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { compileGrant, nameQuestion, questionsOf } from "../policy/grant.ts";
import type { Decision } from "../policy/schema.ts";
import { answers, type AskedAction, kindOf } from "./answering.ts";
import type { Remember } from "./schema.ts";
import { countUsable, insertGrant, type NewGrant } from "./store.ts";

/** An action that is held, with what is asked about it. */
export interface Rememberable extends Omit<AskedAction, "session_id"> {
  digest: string;
  path: string | null;
  decision: Decision;
}

/** The same, when it is approved. */
interface Approved extends Rememberable {
  id: string;
  project_id: string;
  session_id: string;
  tool: string;
  command: string | null;
}

/** What an approval is committed with, so that it is remembered. */
export interface Remembering {
  statement: (only: Statement) => Statement;
  event: NewEvent;
}

/** More than anybody has in view; beyond it one has to be revoked first. */
const MOST_LIVE = 500;

/** Makes a grant of an approval. @throws GateError `invalid` where it can answer nothing ahead of time */
export async function remember(
  { ledger, environment }: { ledger: Ledger; environment: Environment },
  action: Approved,
  wanted: Remember,
  caller: Caller,
): Promise<Remembering> {
  const questions = checkRemember(action, wanted.pattern ?? null);
  const now = environment.now();
  const created_at = new Date(now).toISOString();
  if (await countUsable(ledger, created_at) >= MOST_LIVE) {
    const message = `Cannot remember the approval: ${MOST_LIVE} grants are live already; ` +
      "revoke one with gate grant revoke <id>";
    throw new GateError("conflict", message);
  }
  const { id: action_id, project_id, session_id, digest, access, tool, path, command, scripts } =
    action;
  const { scope, max_uses, ttl_seconds } = wanted;
  const grant: NewGrant = {
    ...{ id: environment.id(), project_id, scope, session_id, action_id, digest },
    pattern: wanted.pattern ?? null,
    ...{ access, tool, path, command, questions, scripts: [...scripts] },
    ...{ given_by: caller.id, created_at },
    expires_at: new Date(now + ttl_seconds * 1000).toISOString(),
    max_uses,
  };
  return { statement: (only) => insertGrant(grant, only), event: addedEvent(grant) };
}

/**
 * The questions that an approval answers for later. @throws GateError `invalid` where nobody can
 * answer ahead of time, or where the pattern does not speak of the very action
 */
export function checkRemember(action: Rememberable, pattern: string | null): string[] {
  const { question, decision, access, digest, scripts } = action;
  if (question.refused !== null) throw refuse(question.refused);
  if (pattern !== null && access === null) {
    throw refuse("a pattern cannot say what this does; leave it out");
  }
  if (pattern !== null) compileGrant(kindOf(access!), pattern);
  // The rule it was held by, too: a rule about the input may no longer see what has been cut of it.
  const held = decision.effect === "ask" ? [nameQuestion(decision.rule)] : [];
  const questions = [...new Set([...questionsOf(question.evaluation.asks), ...held])];
  const grant = { pattern, access, digest, questions, scripts: [...scripts] };
  if (answers(grant, action)) return questions;
  throw refuse(`"${pattern}" does not cover everything that this action does`);
}

function refuse(why: string): GateError {
  return new GateError("invalid", `Cannot remember the approval: ${why}; approve it once`);
}

function addedEvent(grant: NewGrant): NewEvent {
  const { id, session_id, action_id, given_by, scope, digest, pattern } = grant;
  const { questions, scripts, expires_at, max_uses } = grant;
  return {
    session_id,
    action_id,
    type: "grant.added",
    actor: { kind: "reviewer", id: given_by },
    data: { grant_id: id, scope, digest, pattern, questions, scripts, expires_at, max_uses },
  };
}
