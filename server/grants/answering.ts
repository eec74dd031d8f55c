import type { Environment } from "../environment.ts";
import type { Ledger } from "../db/ledger.ts";
import {
  answersAll,
  compileGrant,
  type GrantPattern,
  type Question,
  questionsOf,
} from "../policy/grant.ts";
import type { Decision } from "../policy/schema.ts";
import type { Grant } from "./schema.ts";
import { findGrant, type GrantRow, listUsable } from "./store.ts";

/** What a grant with a pattern lets an agent do. */
type Access = NonNullable<Grant["access"]>;

/** The part of a plan that a grant's access follows from. */
interface Planned {
  tool: string;
  command: string | null;
  accesses: readonly { access: "read" | "write" | "delete" }[];
  /** Set for a call of a host's own tool. */
  native?: unknown;
}

/** An action that a person would be asked about, as far as a grant looks at it. */
export interface AskedAction {
  access: Access | null;
  /** Null where it is not known what exactly would be done. */
  digest: string | null;
  session_id: string | null;
  scripts: readonly { path: string; sha256: string }[];
  question: Question;
}

/** What a pattern speaks of: one program that is run, or files. */
export function kindOf(access: Access): GrantPattern["kind"] {
  return access === "run" ? "command" : "path";
}

const OWN_TOOLS: Record<string, Access> = {
  write_file: "write",
  edit_file: "write",
  delete_file: "delete",
  read_file: "read",
};

/** The one thing that an action does, which a pattern can speak of; null where it is none or several. */
export function accessOf({ tool, command, accesses, native }: Planned): Access | null {
  if (command !== null) return accesses.length === 0 ? "run" : null;
  if (Object.hasOwn(OWN_TOOLS, tool)) return OWN_TOOLS[tool]!;
  const [first] = native ? accesses : [];
  if (!first) return null;
  return accesses.every(({ access }) => access === first.access) ? first.access : null;
}

/** The grant that allows the action; of several the narrowest, and then the one that ends first. */
export async function findAnswering(
  ledger: Ledger,
  asked: AskedAction,
  now: string,
): Promise<GrantRow | null> {
  const { session_id, digest, question } = asked;
  if (question.refused !== null) return null;
  const usable = await listUsable(ledger, { session_id, digest, now });
  return usable.find((grant) => answers(grant, asked)) ?? null;
}

/** What of a grant says which actions it allows. */
export type Meaning = Pick<GrantRow, "pattern" | "access" | "digest" | "questions" | "scripts">;

/** The pattern of a grant, ready to be compared. @throws GateError `invalid` */
export function compiledOf({ access, pattern }: Meaning): GrantPattern | null {
  return pattern === null || access === null ? null : compileGrant(kindOf(access), pattern);
}

/** Whether a grant, as long as it lives, allows this action. */
export function answers(
  grant: Meaning,
  asked: Omit<AskedAction, "session_id">,
  compiled: GrantPattern | null = compiledOf(grant),
): boolean {
  const { question } = asked;
  const answered = new Set(grant.questions);
  if (!questionsOf(question.evaluation.asks).every((one) => answered.has(one))) return false;
  if (grant.pattern === null) return grant.digest === asked.digest && answersAll(null, question);
  if (!compiled || grant.access !== asked.access) return false;
  const known = new Set(grant.scripts.map(nameScript));
  return asked.scripts.every((script) => known.has(nameScript(script))) &&
    answersAll(compiled, question);
}

/** Why what a grant allowed may not happen any more; null where it still may. */
export async function whyNoLonger(
  { ledger, environment }: { ledger: Ledger; environment: Environment },
  id: string,
  asked: AskedAction,
): Promise<string | null> {
  const now = new Date(environment.now()).toISOString();
  const grant = await findGrant(ledger, id, now);
  if (!grant || grant.state === "revoked") return "what allowed it was revoked";
  // Used up it may be: the last use was taken by this very action.
  if (grant.state === "expired" || grant.expires_at <= now) return "what allowed it has expired";
  return answers(grant, asked) ? null : "what allowed it does not answer what policy asks by now";
}

/** The decision that a grant makes of a question, with so many uses taken. */
export function decisionBy(grant: GrantRow, uses: number): Decision {
  const { id, given_by, created_at, expires_at, max_uses, pattern } = grant;
  const what = pattern === null ? "exactly this" : `"${pattern}"`;
  const left = max_uses - uses;
  const reason = `Remembered by ${given_by} on ${minute(created_at)} for ${what}: ` +
    `${left} of ${max_uses} ${max_uses === 1 ? "use" : "uses"} left, ` +
    `until ${minute(expires_at)} (grant ${id})`;
  return { effect: "allow", rule: null, reason, alternative: null, grant_id: id };
}

function nameScript({ path, sha256 }: { path: string; sha256: string }): string {
  return `${sha256} ${path}`;
}

/** `2026-11-20 10:00 UTC`. */
function minute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}
