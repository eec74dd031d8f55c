import { canonical } from "../evidence/canonical.ts";
import { approvalAsked, type ApprovalExtras } from "./approval_asked.ts";
import { fromBase64Url, sha256Hex, toBase64Url } from "./encoding.ts";
import { changeAsked } from "./history.ts";
import { loginAsked } from "./invitation.ts";
import { NotSigned } from "./not_signed.ts";
import { CHALLENGE_MS, SKEW_MS } from "./place_check.ts";
import type { Challenge, EnrolledKey, ProofVerb } from "./schema.ts";

/** A request that a client sent. */
export interface SentRequest {
  method: string;
  url: string;
  body?: unknown;
}

// deno-lint-ignore no-explicit-any
type Body = any;

type Digests = string | readonly string[] | null;

/** A request that needs a proof, and the fields that its challenge must have. */
interface ProvenRequest {
  method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Its first group is the id that `names` is about. */
  path: RegExp;
  verb: ProofVerb;
  names?: "action" | "project" | "items";
  /**
   * The digests that the request itself allows; null if only the daemon knows it. `member_id` is the
   * person who signs.
   */
  digest?: (body: Body, id: string, member_id: string) => Digests | Promise<Digests>;
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
    path: /^\/api\/approvals\/approve$/,
    verb: "approve",
    names: "items",
    digest: ({ items }, action_id) => approvalDigest(itemOf(items, action_id)),
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
    path: /^\/api\/hub\/projects\/([^/]+)\/server$/,
    verb: "move_ledger",
    names: "project",
  },
  {
    method: "DELETE",
    path: /^\/api\/hub\/projects\/([^/]+)\/server$/,
    verb: "move_ledger",
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
  { method: "POST", path: /^\/api\/team\/members$/, verb: "change_team" },
  {
    method: "POST",
    path: /^\/api\/team\/accept$/,
    verb: "change_team",
    digest: (body) => listDigest("team.json", body),
  },
  { method: "PATCH", path: /^\/api\/team\/members\/[^/]+$/, verb: "change_team" },
  { method: "DELETE", path: /^\/api\/team\/members\/[^/]+$/, verb: "change_team" },
  {
    method: "POST",
    path: /^\/api\/team\/members\/([^/]+)\/login-code$/,
    verb: "issue_login",
    digest: ({ role, invitation }, member_id) =>
      digestOf(loginAsked({ member_id, role, invitation })),
  },
  { method: "POST", path: /^\/api\/approval-routes$/, verb: "change_routes" },
  {
    method: "POST",
    path: /^\/api\/approval-routes\/accept$/,
    verb: "change_routes",
    digest: (body) => listDigest("approval_routes.json", body),
  },
  { method: "PATCH", path: /^\/api\/approval-routes\/[^/]+$/, verb: "change_routes" },
  { method: "DELETE", path: /^\/api\/approval-routes\/[^/]+$/, verb: "change_routes" },
  { method: "POST", path: /^\/api\/proof\/set$/, verb: "change_proof", digest: changeDigest },
  {
    method: "POST",
    path: /^\/api\/proof\/remove$/,
    verb: "remove_proof",
    digest: removalDigest,
  },
];

/** The deeds of which nothing happens without a signature. */
const SIGNED: ReadonlySet<ProofVerb> = new Set<ProofVerb>([
  "approve",
  "approve_with_edit",
  "change_proof",
  "change_routes",
  "change_team",
  "issue_login",
  "lift_block",
  "remove_proof",
  "rollback",
]);

/** Whether a terminal may name in this request the member who decides: their signature shows it. */
export function isSignedDeed(method: string, pathname: string): boolean {
  const proven = PROVEN_REQUESTS.find((one) => one.method === method && one.path.test(pathname));
  return proven !== undefined && SIGNED.has(proven.verb);
}

/**
 * Checks that a challenge is about the request that was sent, so that nobody who answers in the
 * daemon's place gets a signature for another deed. `isElsewhere` is true for the challenge of another
 * machine that shares the ledger. @throws NotSigned with the difference
 */
export async function checkChallenge(
  challenge: Challenge,
  request: SentRequest,
  { isElsewhere = false }: { isElsewhere?: boolean } = {},
): Promise<void> {
  // A signature for later could be kept and used then. Another machine has a clock of its own.
  const most = MOST_MS + (isElsewhere ? SKEW_MS : 0);
  if (Date.parse(challenge.expires_at) > Date.now() + most) {
    throw refuse(
      isElsewhere
        ? "it is of a machine whose clock is more than a day ahead; set the clock there"
        : "it expires later than a challenge of gate does",
    );
  }
  const { pathname, searchParams } = new URL(request.url);
  const proven = PROVEN_REQUESTS.find(({ method, path }) =>
    method === request.method && path.test(pathname)
  );
  if (proven?.verb !== challenge.verb) throw refuse(`it is about "${challenge.verb}"`);
  const body = bodyOf(request);
  const id = proven.names === "items"
    ? itemOf(body.items, challenge.action_id)?.id
    : decodeURIComponent(proven.path.exec(pathname)![1] ?? "");
  // A request that names no action must not get a signature for one.
  const named = proven.names === "action" || proven.names === "items" ? id : null;
  if (challenge.action_id !== named) {
    throw refuse(`it is about ${challenge.action_id ?? "no action"}`);
  }
  const project = proven.names === "project" ? id : searchParams.get("project");
  if (project !== null && challenge.project_id !== null && project !== challenge.project_id) {
    throw refuse(`it is about the project "${challenge.project_id}"`);
  }
  const digest = await proven.digest?.(body, id, challenge.member_id) ?? null;
  if (digest !== null && ![digest].flat().includes(challenge.digest)) {
    throw refuse("it covers other content");
  }
}

/** The digest of a list that was changed by hand: the version that the person has seen. */
function listDigest(list: string, { items_sha256, number }: Body): Promise<string> {
  return digestOf({ list, number, items_sha256 });
}

async function approvalDigest(body: Body): Promise<string> {
  const { remember, base_sha256, content, encoding, command, permit, take, open } = body;
  const extras: ApprovalExtras = {
    ...{ remember, base_sha256, content, encoding, command, permit, take, open },
  };
  return (await approvalAsked(expectedIn(body), extras, sha256Hex)).digest;
}

/** The item of a request about several actions that names this one. */
function itemOf(items: Body, action_id: string | null): Body {
  return (items as Body[]).find(({ id }) => id === action_id);
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

/**
 * The digests of a change to a passphrase or the token: of the home's key, or of the own key of the
 * member who signs. Null for a passkey, whose key only the daemon reads.
 */
async function changeDigest(body: Body, _: string, member_id: string): Promise<Digests> {
  if (body.kind === "token") return await digestOf(changeAsked("token", null));
  const bytes = body.kind === "passphrase" ? fromBase64Url(body.public_key) : null;
  if (bytes === null) return null;
  const key_id = toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const key = { ...body as EnrolledKey, key_id };
  const roles = ["reviewer", "admin"] as const;
  return await Promise.all([
    digestOf(changeAsked("passphrase", key)),
    ...roles.map((role) => digestOf(changeAsked("passphrase", { ...key, role }, member_id))),
  ]);
}

/** The digests of a removal: of the named member's key, or of the own one, which may be the home's. */
async function removalDigest(
  { member_id: named }: Body,
  _: string,
  member_id: string,
): Promise<Digests> {
  const holder = digestOf(changeAsked("none", null, named ?? member_id));
  if (named !== undefined && named !== member_id) return await holder;
  return await Promise.all([digestOf(changeAsked("none", null)), holder]);
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
