import { canonical } from "../evidence/canonical.ts";
import { approvalAsked, type ApprovalExtras } from "./approval_asked.ts";
import { fromBase64Url, sha256Hex, toBase64Url } from "./encoding.ts";
import { changeAsked } from "./history.ts";
import { NotSigned } from "./not_signed.ts";
import { CHALLENGE_MS } from "./place_check.ts";
import type { Challenge, EnrolledKey, ProofVerb } from "./schema.ts";

/** A request that a client sent. */
export interface SentRequest {
  method: string;
  url: string;
  body?: unknown;
}

// deno-lint-ignore no-explicit-any
type Body = any;

/** A request that needs a proof, and the fields that its challenge must have. */
interface ProvenRequest {
  method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Its first group is the id that `names` is about. */
  path: RegExp;
  verb: ProofVerb;
  names?: "action" | "project";
  /** The digest that the request itself determines; null if only the daemon knows it. */
  digest?: (body: Body, id: string) => Promise<string | null> | string;
}

/** The daemon runs on the same machine, so the clocks are the same. */
const MOST_MS = 2 * CHALLENGE_MS;

const PROVEN_REQUESTS: readonly ProvenRequest[] = [
  {
    method: "POST",
    path: /^\/api\/(?:actions|global\/approvals)\/([^/]+)\/approve$/,
    verb: "approve",
    names: "action",
    digest: approvalDigest,
  },
  {
    method: "POST",
    path: /^\/api\/actions\/([^/]+)\/approve-with-edit$/,
    verb: "approve_with_edit",
    names: "action",
    digest: approvalDigest,
  },
  {
    method: "POST",
    path: /^\/api\/actions\/([^/]+)\/rollback$/,
    verb: "rollback",
    names: "action",
    digest: (body, action_id) => {
      const { on_conflict = "abort" } = body;
      return digestOf({ action_id, digest: expectedIn(body), on_conflict });
    },
  },
  {
    method: "POST",
    path: /^\/api\/actions\/([^/]+)\/replay$/,
    verb: "replay",
    names: "action",
    digest: expectedIn,
  },
  {
    method: "POST",
    path: /^\/api\/sessions\/([^/]+)\/rollback(?:-partial)?$/,
    verb: "rollback",
    digest: ({ on_conflict = "abort", expected_actions_sha256 }, session_id) => {
      const actions_sha256 = stated(expected_actions_sha256, "expected_actions_sha256");
      return digestOf({ session_id, on_conflict, actions_sha256 });
    },
  },
  { method: "PUT", path: /^\/api\/config\/policies$/, verb: "change_policies" },
  {
    method: "POST",
    path: /^\/api\/config\/accept$/,
    verb: "accept_config",
    digest: ({ path, sha256, number }) => digestOf({ path, sha256, ...number && { number } }),
  },
  { method: "POST", path: /^\/api\/hub\/projects$/, verb: "register_project" },
  {
    method: "POST",
    path: /^\/api\/workspaces\/[^/]+\/projects$/,
    verb: "register_project",
  },
  {
    method: "DELETE",
    path: /^\/api\/hub\/projects\/([^/]+)$/,
    verb: "remove_project",
    names: "project",
  },
  {
    method: "PUT",
    path: /^\/api\/hub\/projects\/([^/]+)\/override-trust$/,
    verb: "trust_override",
    names: "project",
    digest: (_, project_id) => digestOf({ overrideGlobal: true, project_id }),
  },
  {
    method: "POST",
    path: /^\/api\/remediation\/blocks\/([^/]+)\/unblock$/,
    verb: "lift_block",
    digest: (_, block_id) => digestOf({ block_id }),
  },
  { method: "POST", path: /^\/api\/team\/(?:members|accept)$/, verb: "change_team" },
  { method: "PATCH", path: /^\/api\/team\/members\/[^/]+$/, verb: "change_team" },
  { method: "DELETE", path: /^\/api\/team\/members\/[^/]+$/, verb: "change_team" },
  {
    method: "POST",
    path: /^\/api\/team\/members\/([^/]+)\/login-code$/,
    verb: "issue_login",
    digest: (_, member_id) => digestOf({ member_id }),
  },
  { method: "POST", path: /^\/api\/approval-routes(?:\/accept)?$/, verb: "change_routes" },
  { method: "PATCH", path: /^\/api\/approval-routes\/[^/]+$/, verb: "change_routes" },
  { method: "DELETE", path: /^\/api\/approval-routes\/[^/]+$/, verb: "change_routes" },
  { method: "POST", path: /^\/api\/proof\/set$/, verb: "change_proof", digest: changeDigest },
  {
    method: "POST",
    path: /^\/api\/proof\/remove$/,
    verb: "remove_proof",
    digest: () => digestOf(changeAsked("none", null)),
  },
];

/**
 * Checks that a challenge is about the request that was sent, so that nobody who answers in the
 * daemon's place gets a signature for another proven. @throws NotSigned with the difference
 */
export async function checkChallenge(challenge: Challenge, request: SentRequest): Promise<void> {
  // A signature for later could be kept and used then.
  if (Date.parse(challenge.expires_at) > Date.now() + MOST_MS) {
    throw refuse("it expires later than a challenge of gate does");
  }
  const { pathname, searchParams } = new URL(request.url);
  const proven = PROVEN_REQUESTS.find(({ method, path }) =>
    method === request.method && path.test(pathname)
  );
  if (proven?.verb !== challenge.verb) throw refuse(`it is about "${challenge.verb}"`);
  const id = decodeURIComponent(proven.path.exec(pathname)![1] ?? "");
  // A request that names no action must not get a signature for one.
  if (challenge.action_id !== (proven.names === "action" ? id : null)) {
    throw refuse(`it is about ${challenge.action_id ?? "no action"}`);
  }
  const project = proven.names === "project" ? id : searchParams.get("project");
  if (project !== null && challenge.project_id !== null && project !== challenge.project_id) {
    throw refuse(`it is about the project "${challenge.project_id}"`);
  }
  const digest = await proven.digest?.(bodyOf(request), id) ?? null;
  if (digest !== null && digest !== challenge.digest) throw refuse("it covers other content");
}

async function approvalDigest(body: Body): Promise<string> {
  const { remember, base_sha256, content, encoding, command, permit } = body;
  const extras: ApprovalExtras = { remember, base_sha256, content, encoding, command, permit };
  return (await approvalAsked(expectedIn(body), extras, sha256Hex)).digest;
}

/** The digest of the action that the person saw. @throws NotSigned if the request names none */
function expectedIn({ expected_digest }: Body): string {
  return stated(expected_digest, "expected_digest");
}

function stated(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  const why = `the request does not say in "${field}" what the person saw`;
  throw new NotSigned(why, `add "${field}" to its body`);
}

/** The digest of a change to a passphrase or the token; null for a passkey, whose key only the daemon reads. */
async function changeDigest(body: Body): Promise<string | null> {
  if (body.kind === "token") return await digestOf(changeAsked("token", null));
  const bytes = body.kind === "passphrase" ? fromBase64Url(body.public_key) : null;
  if (bytes === null) return null;
  const key_id = toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  return await digestOf(changeAsked("passphrase", { ...body as EnrolledKey, key_id }));
}

/** The parsed body. It is valid JSON, because the daemon asks for no proof of an invalid one. */
function bodyOf({ body }: SentRequest): Body {
  return typeof body === "string" ? JSON.parse(body) ?? {} : {};
}

function digestOf(asked: unknown): Promise<string> {
  return sha256Hex(canonical(asked));
}

function refuse(why: string): NotSigned {
  return new NotSigned(`the daemon's challenge is not about this request: ${why}`);
}
