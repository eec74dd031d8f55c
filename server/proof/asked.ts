import type { Challenge, ProofVerb } from "./schema.ts";
import { toHex } from "./public_key.ts";
import { approvalAsked, type ApprovalExtras } from "./statement.ts";

/** A request that a client sent. */
export interface Asked {
  method: string;
  url: string;
  body?: unknown;
}

/** The deeds that need a proof: method, path with the action's id in parentheses, verbs. */
const DEEDS: readonly [method: string, path: RegExp, verbs: readonly ProofVerb[]][] = [
  ["POST", /^\/api\/(?:actions|global\/approvals)\/([^/]+)\/approve$/, ["approve"]],
  ["POST", /^\/api\/actions\/([^/]+)\/approve-with-edit$/, ["approve_with_edit"]],
  ["POST", /^\/api\/actions\/([^/]+)\/rollback$/, ["rollback"]],
  ["POST", /^\/api\/actions\/([^/]+)\/replay$/, ["replay"]],
  ["POST", /^\/api\/sessions\/[^/]+\/rollback(?:-partial)?$/, ["rollback"]],
  ["PUT", /^\/api\/config\/policies$/, ["change_policies"]],
  ["POST", /^\/api\/config\/accept$/, ["accept_config"]],
  ["POST", /^\/api\/hub\/projects$/, ["register_project"]],
  ["DELETE", /^\/api\/hub\/projects\/[^/]+$/, ["remove_project"]],
  ["PUT", /^\/api\/hub\/projects\/[^/]+\/override-trust$/, ["trust_override"]],
  ["POST", /^\/api\/workspaces\/[^/]+\/projects$/, ["register_project"]],
  ["POST", /^\/api\/proof\/set$/, ["change_proof"]],
  ["POST", /^\/api\/proof\/remove$/, ["remove_proof"]],
];

/**
 * Checks that a challenge is about the request that was sent, so that nobody who answers in the
 * daemon's place gets a signature for another deed. @throws Error with the difference
 */
export async function checkChallenge(challenge: Challenge, asked: Asked): Promise<void> {
  const { pathname, searchParams } = new URL(asked.url);
  const { verbs, action_id } = deedOf(asked.method, pathname);
  if (!verbs.includes(challenge.verb)) throw refuse(`it is about "${challenge.verb}"`);
  // A session's rollback names no action, and no other action may stand in its challenge.
  if (action_id !== challenge.action_id) {
    throw refuse(`it is about ${challenge.action_id ?? "no action"}`);
  }
  const project = searchParams.get("project");
  if (project !== null && challenge.project_id !== null && project !== challenge.project_id) {
    throw refuse(`it is about the project "${challenge.project_id}"`);
  }
  const digest = challenge.verb.startsWith("approve") ? await approvalDigest(asked.body) : null;
  if (digest !== null && digest !== challenge.digest) throw refuse("it covers other content");
}

function deedOf(method: string, path: string) {
  for (const [deed, pattern, verbs] of DEEDS) {
    const found = deed === method ? pattern.exec(path) : null;
    if (found) return { verbs, action_id: found[1] ? decodeURIComponent(found[1]) : null };
  }
  return { verbs: [], action_id: null };
}

/** The digest of an approval whose request names the action's digest; null for any other request. */
async function approvalDigest(body: unknown): Promise<string | null> {
  if (typeof body !== "string") return null;
  const { expected_digest, remember, base_sha256, content, encoding, command } = JSON.parse(body);
  if (typeof expected_digest !== "string") return null;
  const extras: ApprovalExtras = { remember, base_sha256, content, encoding, command };
  return (await approvalAsked(expected_digest, extras, sha256)).digest;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function refuse(why: string): Error {
  return new Error(`Cannot sign the daemon's challenge: ${why}, which nobody asked for here`);
}
