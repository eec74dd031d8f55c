import { createInvitation } from "../../server/proof/invitation.ts";
import type { Member } from "../../server/team/schema.ts";
import { api, unwrap } from "../state/client.ts";
import { proof } from "../state/proof.ts";

/**
 * Creates a login link for a member. Where a proof is set up, it lets a member who may decide set a
 * key of their own. @throws Error
 */
export async function createLink({ id, role }: Pick<Member, "id" | "role">): Promise<string> {
  const kind = proof.peek()?.kind;
  const hasKeys = kind === "passphrase" || kind === "passkey";
  const invitation = hasKeys && role !== "viewer" ? await createInvitation() : null;
  const json = invitation && role !== "viewer" ? { role, invitation: invitation.public_key } : {};
  const one = api().api.team.members[":id"]["login-code"];
  const { path } = await unwrap(one.$post({ param: { id }, json }));
  const seed = invitation === null ? "" : `&invitation=${invitation.seed}`;
  return `${location.origin}${path}${seed}`;
}
