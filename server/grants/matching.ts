import type { Environment } from "../environment.ts";
import { lasts } from "../time_span.ts";
import {
  answersAll,
  compileGrant,
  type GrantPattern,
  type Question,
  questionsOf,
} from "../policy/grant.ts";
import type { Decision } from "../policy/schema.ts";
import type { Grant } from "./schema.ts";
import { grantStands } from "./standing.ts";
import { findGrant, type GrantRow, listUsable } from "./store.ts";

/** The access that a grant with a pattern allows. */
export type GrantAccess = NonNullable<Grant["access"]>;

/** An action that policy asks about, as grants see it. */
export interface GrantSubject {
  access: GrantAccess | null;
  /** Null if the plan is unknown. */
  digest: string | null;
  session_id: string | null;
  scripts: readonly { path: string; sha256: string }[];
  question: Question;
}

/** Whether a pattern matches commands or paths. */
export function kindOf(access: GrantAccess): GrantPattern["kind"] {
  return access === "run" ? "command" : "path";
}

/** Finds grants, and checks their proofs. */
type GrantServices = Parameters<typeof grantStands>[0] & { environment: Environment };

/** The grant that allows the action: the narrowest one, then the one that expires first. */
export async function findGrantFor(
  services: GrantServices,
  subject: GrantSubject,
): Promise<GrantRow | null> {
  const { session_id, digest, question } = subject;
  if (question.refused !== null) return null;
  const now = new Date(services.environment.now()).toISOString();
  const usable = await listUsable(services.ledger, { session_id, digest, now });
  for (const grant of usable) {
    if (!grantLasts(services, grant)) continue;
    if (grantAllows(grant, subject) && await grantStands(services, grant)) return grant;
  }
  return null;
}

function grantLasts(
  { environment, ledger }: GrantServices,
  { id, created_at, expires_at }: GrantRow,
): boolean {
  const is_shared = ledger.machine !== null;
  return lasts(environment, id, { from: created_at, until: expires_at }, { is_shared });
}

/** The fields of a grant that define which actions it allows. */
export type GrantTerms = Pick<GrantRow, "pattern" | "access" | "digest" | "questions" | "scripts">;

/** The compiled pattern of a grant; null without one. @throws GateError `invalid` */
export function compiledOf({ access, pattern }: GrantTerms): GrantPattern | null {
  return pattern === null || access === null ? null : compileGrant(kindOf(access), pattern);
}

/** Whether the terms of a grant allow this action. */
export function grantAllows(
  grant: GrantTerms,
  subject: Omit<GrantSubject, "session_id">,
  compiled: GrantPattern | null = compiledOf(grant),
): boolean {
  const { question } = subject;
  const answered = new Set(grant.questions);
  if (!questionsOf(question.evaluation.asks).every((one) => answered.has(one))) return false;
  if (grant.pattern === null) return grant.digest === subject.digest && answersAll(null, question);
  if (!compiled || grant.access !== subject.access) return false;
  const known = new Set(grant.scripts.map(nameScript));
  return subject.scripts.every((script) => known.has(nameScript(script))) &&
    answersAll(compiled, question);
}

/** Why an action that a grant allowed may no longer be executed; null if it still may. */
export async function whyLapsed(
  services: GrantServices,
  id: string,
  subject: GrantSubject,
): Promise<string | null> {
  const { ledger, environment } = services;
  const now = new Date(environment.now()).toISOString();
  const grant = await findGrant(ledger, id, now);
  if (!grant || grant.state === "revoked") return "the grant that allowed it was revoked";
  // The grant may be used up, because this action took the last use.
  if (grant.state === "expired" || !grantLasts(services, grant)) {
    return "the grant that allowed it has expired";
  }
  if (!await grantStands(services, grant)) {
    return "no proof of the grant that allowed it stands in the log";
  }
  return grantAllows(grant, subject)
    ? null
    : "the grant that allowed it does not cover what the policy now asks";
}

/** The decision of a grant, after this number of uses. */
export function decisionBy(grant: GrantRow, uses: number): Decision {
  const { id, given_by, created_at, expires_at, max_uses, pattern } = grant;
  const what = pattern === null ? "exactly this" : `"${pattern}"`;
  const left = max_uses - uses;
  const reason = `Remembered by ${given_by} on ${minute(created_at)} for ${what}: ` +
    `${left} of ${max_uses} ${max_uses === 1 ? "use" : "uses"} left, ` +
    `until ${minute(expires_at)} (grant ${id})`;
  return { effect: "allow", rule: null, reason, alternative: null, sandbox: null, grant_id: id };
}

function nameScript({ path, sha256 }: { path: string; sha256: string }): string {
  return `${sha256} ${path}`;
}

/** `2026-11-20 10:00 UTC`. */
function minute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}
