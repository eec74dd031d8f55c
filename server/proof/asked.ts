import { changeAsked } from "./history.ts";
import { NotSigned } from "./not_signed.ts";
import { toHex } from "./public_key.ts";
import type { Challenge, EnrolledKey, ProofVerb } from "./schema.ts";
import {
  approvalAsked,
  type ApprovalExtras,
  canonicalText,
  fromBase64Url,
  toBase64Url,
  utf8,
} from "./statement.ts";

/** A request that a client sent. */
export interface Asked {
  method: string;
  url: string;
  body?: unknown;
}

// deno-lint-ignore no-explicit-any
type Body = any;

/** A request that needs a proof, and what its challenge has to say. */
interface Deed {
  method: "POST" | "PUT" | "DELETE";
  /** The parentheses hold the id that `names` speaks of. */
  path: RegExp;
  verb: ProofVerb;
  names?: "action" | "project";
  /** The digest that the request itself determines; null if only the daemon knows it. */
  digest?: (body: Body, id: string) => Promise<string | null> | string;
}

const DEEDS: readonly Deed[] = [
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
 * daemon's place gets a signature for another deed. @throws NotSigned with the difference
 */
export async function checkChallenge(challenge: Challenge, asked: Asked): Promise<void> {
  const { pathname, searchParams } = new URL(asked.url);
  const deed = DEEDS.find(({ method, path }) => method === asked.method && path.test(pathname));
  if (deed?.verb !== challenge.verb) throw refuse(`it is about "${challenge.verb}"`);
  const id = decodeURIComponent(deed.path.exec(pathname)![1] ?? "");
  // No other action may stand in the challenge of a request that names none.
  if (challenge.action_id !== (deed.names === "action" ? id : null)) {
    throw refuse(`it is about ${challenge.action_id ?? "no action"}`);
  }
  const project = deed.names === "project" ? id : searchParams.get("project");
  if (project !== null && challenge.project_id !== null && project !== challenge.project_id) {
    throw refuse(`it is about the project "${challenge.project_id}"`);
  }
  const digest = await deed.digest?.(bodyOf(asked), id) ?? null;
  if (digest !== null && digest !== challenge.digest) throw refuse("it covers other content");
}

async function approvalDigest(body: Body): Promise<string> {
  const { remember, base_sha256, content, encoding, command, permit } = body;
  const extras: ApprovalExtras = { remember, base_sha256, content, encoding, command, permit };
  return (await approvalAsked(expectedIn(body), extras, sha256)).digest;
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

/** The digest of a new passphrase; null for a passkey, whose key only the daemon reads. */
async function changeDigest(body: Body): Promise<string | null> {
  if (body.kind === "token") return await digestOf(changeAsked("token", null));
  const bytes = body.kind === "passphrase" ? fromBase64Url(body.public_key) : null;
  if (bytes === null) return null;
  const key_id = toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  return await digestOf(changeAsked("passphrase", { ...body as EnrolledKey, key_id }));
}

/** The body as the daemon read it; the daemon asks for no proof of an invalid one. */
function bodyOf({ body }: Asked): Body {
  return typeof body === "string" ? JSON.parse(body) ?? {} : {};
}

function digestOf(asked: unknown): Promise<string> {
  return sha256(utf8(canonicalText(asked)));
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function refuse(why: string): NotSigned {
  return new NotSigned(`the daemon's challenge is not about this request: ${why}`);
}
