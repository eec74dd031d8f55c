import type { Caller } from "../auth/schema.ts";
import type { Environment } from "../environment.ts";
import type { Ledger, NewEvent, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { compileGrant, nameQuestion, questionsOf } from "../policy/grant.ts";
import type { Decision } from "../policy/schema.ts";
import { grantAllows, type GrantSubject, kindOf } from "./matching.ts";
import type { Remember } from "./schema.ts";
import { countUsable, insertGrant, type NewGrant } from "./store.ts";

/** A held action with the question of the policy. */
export interface Rememberable extends Omit<GrantSubject, "session_id"> {
  digest: string;
  path: string | null;
  decision: Decision;
}

/** A held action that is being approved. */
interface Approved extends Rememberable {
  id: string;
  project_id: string;
  session_id: string;
  tool: string;
  command: string | null;
}

/** The statement and the event that an approval commits to make a grant. */
export interface Remembering {
  statement: (only: Statement) => Statement;
  event: NewEvent;
}

/** The most live grants of a project, so that a person can still review them. */
const MOST_LIVE = 500;

/** Makes a grant of an approval. @throws GateError `invalid` if a grant cannot answer the question */
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
    id: environment.id(),
    project_id,
    scope,
    session_id,
    action_id,
    digest,
    pattern: wanted.pattern ?? null,
    access,
    tool,
    path,
    command,
    questions,
    scripts: [...scripts],
    given_by: caller.id,
    created_at,
    expires_at: new Date(now + ttl_seconds * 1000).toISOString(),
    max_uses,
  };
  return { statement: (only) => insertGrant(grant, only), event: addedEvent(grant, ttl_seconds) };
}

/**
 * The questions that a grant would answer. @throws GateError `invalid` if they must be asked each
 * time, or if the pattern does not match the action itself
 */
export function checkRemember(action: Rememberable, pattern: string | null): string[] {
  const { question, decision, access, digest, scripts } = action;
  if (question.refused !== null) throw notRememberable(question.refused);
  if (pattern !== null && access === null) {
    throw notRememberable("no pattern can describe this action; leave the pattern out");
  }
  if (pattern !== null) compileGrant(kindOf(access!), pattern);
  // A rule about the input may not match the kept copy, which was cut. So its question is added.
  const held = decision.effect === "ask" ? [nameQuestion(decision.rule)] : [];
  const questions = [...new Set([...questionsOf(question.evaluation.asks), ...held])];
  const grant = { pattern, access, digest, questions, scripts: [...scripts] };
  if (grantAllows(grant, action)) return questions;
  throw notRememberable(`"${pattern}" does not cover everything that this action does`);
}

function notRememberable(why: string): GateError {
  return new GateError("invalid", `Cannot remember the approval: ${why}; approve it once`);
}

// With everything that the reviewer set, so that the signed hash of it can be checked.
function addedEvent(grant: NewGrant, ttl_seconds: number): NewEvent {
  const { id, session_id, action_id, given_by, scope, digest, pattern } = grant;
  const { questions, scripts, access, expires_at, max_uses } = grant;
  return {
    session_id,
    action_id,
    type: "grant.added",
    actor: { kind: "reviewer", id: given_by },
    data: {
      grant_id: id,
      scope,
      digest,
      pattern,
      questions,
      scripts,
      access,
      ttl_seconds,
      expires_at,
      max_uses,
    },
  };
}
