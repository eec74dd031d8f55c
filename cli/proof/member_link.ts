import { type Client, createClient, unwrap } from "../../server/client.ts";
import { createInvitation } from "../../server/proof/invitation.ts";
import type { Member } from "../../server/team/schema.ts";
import type { Connection } from "../daemon/connect.ts";
import { loginLink } from "../daemon/dashboard_link.ts";
import { CliError } from "../errors.ts";
import { visibleLine } from "../terminal/visible.ts";

/**
 * Creates a login link for a member. Where a proof is set up, its invitation lets a member who may
 * decide set a key of their own.
 */
export async function createMemberLink(
  client: Client,
  { id, role }: Pick<Member, "id" | "role">,
): Promise<{ url: string; code: string; seed: string | null }> {
  const { kind } = await unwrap(client.api.proof.$get());
  const canDecide = role !== "viewer" && (kind === "passphrase" || kind === "passkey");
  const invitation = canDecide ? await createInvitation() : null;
  const given = invitation && role !== "viewer" ? { role, invitation: invitation.public_key } : {};
  const one = client.api.team.members[":id"]["login-code"];
  const login = await unwrap(one.$post({ param: { id }, json: given }));
  const url = await loginLink(client, login);
  const seed = invitation?.seed ?? null;
  return { url: seed === null ? url : `${url}&invitation=${seed}`, code: login.code, seed };
}

/** A member by id. @throws CliError if there is none */
export async function findMember(client: Client, id: string): Promise<Member> {
  const { items } = await unwrap(client.api.team.members.$get());
  const found = items.find((one) => one.id === id);
  if (found) return found;
  throw new CliError(`Cannot find member "${visibleLine(id)}"`, { next: "gate team list" });
}

/** The code and the seed in a member's login link. @throws CliError for another text */
export function readMemberLink(link: string): { code: string; seed: string } {
  const query = URL.canParse(link) ? new URL(link).searchParams : null;
  const [code, seed] = [query?.get("code"), query?.get("invitation")];
  if (code && seed) return { code, seed };
  throw new CliError("Cannot use --link: it is no login link of a member", {
    next: "gate team link <id>, by an admin; put the link in quotation marks",
  });
}

/** Logs in with a code, once, as the member of the link. @throws CliError if it was used or expired */
export async function logIn({ url, fetch }: Connection, code: string): Promise<Client> {
  const path = `${url}/login?code=${encodeURIComponent(code)}`;
  const answer = await fetch(path, { redirect: "manual" });
  const [, key] = /#key=([\w-]{43})/.exec(answer.headers.get("location") ?? "") ?? [];
  if (key) return createClient({ url, fetch, key });
  throw new CliError("Cannot log in: the link was used already or has expired", {
    next: "gate team link <id>, by an admin, for a new one",
  });
}
