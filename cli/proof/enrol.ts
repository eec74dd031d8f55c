import { type Client, ProblemError, unwrap } from "../../server/client.ts";
import { createSalt, derivePassphraseKey, SCRYPT } from "../../server/proof/passphrase.ts";
import { signInvited } from "../../server/proof/invitation.ts";
import type { EnrolledKey, ProofStatus } from "../../server/proof/schema.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { visibleLine } from "../terminal/visible.ts";
import { describeKey, takeBack } from "./describe.ts";
import { createMemberLink, findMember, logIn, readMemberLink } from "./member_link.ts";
import { nativeScrypt } from "./native_scrypt.ts";
import { type PassphraseOptions, Passphrases } from "./passphrases.ts";
import { quote } from "../../server/shown/quote.ts";
import { openReview, Prover, readProof } from "./prover.ts";

/** Sets the first passphrase of a home. @throws CliError if a key is already enrolled */
export async function setPassphrase(io: Io, options: PassphraseOptions): Promise<ProofStatus> {
  const passphrases = new Passphrases(io, options);
  const first = homeKey(await readProof(io));
  if (first) throw alreadySet(io, first);
  const { client } = await openConnection(io, { scope: "reviewer" });
  try {
    return await enrol(client, passphrases);
  } catch (error) {
    const first = homeKey(await readProof(io));
    // Another program was faster while the person typed.
    const isLate = error instanceof ProblemError && error.problem.code === "proof_required";
    throw isLate && first ? alreadySet(io, first) : error;
  }
}

/** How a member sets their own passphrase. */
interface MemberOptions extends PassphraseOptions {
  member: string;
  /** Their login link; without it an admin creates one here. */
  link?: string | undefined;
  /** The admin who creates it; by default the person of the reviewer's token. */
  as?: string | undefined;
}

/**
 * Sets a member's own passphrase with their login link. Without one, an admin at the same terminal
 * proves first that they create it. @throws CliError
 */
export async function setMemberPassphrase(
  io: Io,
  { member, link, as, ...options }: MemberOptions,
): Promise<ProofStatus> {
  const passphrases = new Passphrases(io, options);
  const prover = new Prover(io, passphrases);
  const connection = await openReview(io, { prover, as });
  const { code, seed } = link === undefined
    ? await createLink(connection.client, member)
    : readMemberLink(link);
  const client = await logIn(connection, code);
  const { id } = await unwrap(client.api.team.whoami.$get());
  if (id !== member) {
    throw new CliError(`Cannot set the passphrase: the link is for "${visibleLine(id)}"`, {
      next: `gate proof set --member ${quote(id)} --link … with a new link`,
    });
  }
  return await enrol(client, passphrases, { seed, member_id: id });
}

async function createLink(client: Client, id: string) {
  const { code, seed } = await createMemberLink(client, await findMember(client, id));
  if (seed !== null) return { code, seed };
  throw new CliError(
    `Cannot set a passphrase for "${visibleLine(id)}": they may only read, or the ` +
      "home has no proof yet",
    { next: "gate team list; gate proof status" },
  );
}

/** Replaces a passphrase: that of the home, or a member's own. @throws CliError if none is enrolled */
export async function changePassphrase(
  io: Io,
  { member, ...options }: PassphraseOptions & { member?: string | undefined },
): Promise<ProofStatus> {
  const passphrases = new Passphrases(io, options);
  const status = await readProof(io);
  const present = member === undefined
    ? homeKey(status)
    : status.enrolled.find(({ member_id }) => member_id === member);
  if (!present) {
    const whose = member === undefined ? "" : ` of "${visibleLine(member)}"`;
    throw new CliError(`Cannot change the passphrase${whose}: none is set`, {
      next: member === undefined ? "gate proof set" : `gate proof set --member ${quote(member)}`,
    });
  }
  const prover = new Prover(io, passphrases);
  // The present passphrase first: a person who does not know it need not think of a new one.
  await prover.unlock(present, "Present passphrase");
  const as = member === undefined || present === homeKey(status) ? undefined : member;
  const { client } = await openReview(io, { prover, as });
  return await enrol(client, passphrases);
}

/** The key of the home, which has every right. */
function homeKey({ enrolled }: ProofStatus): EnrolledKey | undefined {
  return enrolled.find(({ role }) => role === undefined);
}

async function enrol(
  client: Client,
  passphrases: Passphrases,
  link?: { seed: string; member_id: string },
): Promise<ProofStatus> {
  const passphrase = await passphrases.readNew();
  const salt = createSalt();
  const { public_key } = await derivePassphraseKey(passphrase, {
    salt,
    scrypt: SCRYPT,
    run: nativeScrypt,
  });
  const invited = link && await signInvited(link.seed, { ...link, public_key });
  const json = {
    kind: "passphrase" as const,
    public_key,
    salt,
    scrypt: SCRYPT,
    ...invited && { invited },
  };
  return await unwrap(client.api.proof.set.$post({ json }));
}

function alreadySet(io: Io, key: EnrolledKey): CliError {
  return new CliError(`Cannot set a proof: ${describeKey(key)}\n${takeBack(io)}`, {
    next: "gate proof change, if it is yours",
  });
}
