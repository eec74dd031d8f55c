import { type Prove, unwrap } from "../../server/client.ts";
import { derivePassphraseKey } from "../../server/proof/passphrase.ts";
import type { SigningKey } from "../../server/proof/signing_key.ts";
import type { Challenge, EnrolledKey, ProofStatus } from "../../server/proof/schema.ts";
import { NotSigned } from "../../server/proof/not_signed.ts";
import { statementOf } from "../../server/proof/statement.ts";
import { VERB_TEXTS } from "../../server/proof/verb_texts.ts";
import { connect, type Connection, openConnection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { nativeScrypt } from "./native_scrypt.ts";
import { type PassphraseOptions, Passphrases } from "./passphrases.ts";

/** Options of a connection that may decide. */
export interface ReviewOptions extends PassphraseOptions {
  /** Whether to start a daemon if none runs (the default). */
  start?: boolean;
  /** Signs the challenges; by default a new prover with these options. */
  prover?: Prover;
  /** The member who decides; by default the person of the reviewer's token. */
  as?: string | undefined;
  /** Called before a challenge is signed: it shows the person what they sign. */
  show?: (challenge: Challenge) => void;
}

/**
 * A reviewer's connection. Where the daemon requires a person's proof, it asks for the passphrase
 * once and signs. A command that decides gives its options. @throws CliError if the daemon cannot be reached
 */
export async function openReview(io: Io, options?: ReviewOptions): Promise<Connection> {
  const { start, prover = new Prover(io, options), show, as } = options ?? {};
  return await openConnection(io, {
    scope: "reviewer",
    ...as !== undefined && { member: as },
    prove: async (challenge) => {
      if (as !== undefined && challenge.member_id !== as) {
        throw new NotSigned(`the daemon asks "${challenge.member_id}" and not "${as}"`);
      }
      show?.(challenge);
      return await prover.prove(challenge);
    },
    ...start !== undefined && { start },
  });
}

const MOST_TRIES = 3;

/** Signs challenges with the key of a passphrase, which it asks for at the first challenge. */
export class Prover {
  readonly #io: Io;
  readonly #passphrases: Passphrases;
  #unlocked: Unlocked | null = null;

  constructor(io: Io, options?: PassphraseOptions | Passphrases) {
    this.#io = io;
    this.#passphrases = options instanceof Passphrases ? options : new Passphrases(io, options);
  }

  /** Signs a challenge. @throws CliError if nobody gives the right passphrase */
  readonly prove: Prove = async (challenge) => {
    const { key_id, key } = await this.unlock(challenge, `Passphrase ${purposeOf(challenge)}`);
    const statement = new TextEncoder().encode(statementOf(challenge));
    const signature = await key.sign(statement);
    return { kind: "passphrase", key_id, nonce: challenge.nonce, signature };
  };

  /** Asks for the passphrase of a member unless its key is in memory. @throws CliError */
  async unlock(of: Purpose, question: string): Promise<Unlocked> {
    const now = Date.now();
    if (this.#unlocked && now < this.#unlocked.until) return this.#unlocked;
    this.#unlocked = null;
    const { unlock_seconds, enrolled } = await readProof(this.#io, { start: false });
    const keys = this.#keysFor(of, enrolled);
    const lives_ms = unlock_seconds === null ? Infinity : unlock_seconds * 1000;
    for (let tries = 1;; tries++) {
      const message = tries === 1 ? question : `Wrong. ${question}`;
      const typed = await this.#passphrases.read(message);
      const found = await findKey(keys, typed);
      if (found) return this.#unlocked = { ...found, until: Date.now() + lives_ms };
      if (!this.#passphrases.isTyped || tries === MOST_TRIES) throw wrongPassphrase();
    }
  }

  /** @throws CliError if the person has no passphrase */
  #keysFor(of: Purpose, enrolled: readonly EnrolledKey[]): EnrolledKey[] {
    const own = enrolled.filter(({ member_id }) => member_id === of.member_id);
    const keys = own.filter(({ kind }) => kind === "passphrase");
    if (keys.length > 0) return keys;
    throw needsPasskey(of, placeOf(this.#io).port);
  }
}

/** The person whose key is needed, and the action that their decision is about. */
interface Purpose {
  member_id: string;
  action_id?: string | null;
  project_id?: string | null;
}

/** A key in memory. */
export interface Unlocked {
  key_id: string;
  key: SigningKey;
  /** The time in milliseconds at which the key is forgotten. */
  until: number;
}

/** The enrolled key of a passphrase; null for a wrong one. */
async function findKey(
  keys: readonly EnrolledKey[],
  typed: string,
): Promise<Omit<Unlocked, "until"> | null> {
  for (const { key_id, public_key, salt, scrypt } of keys) {
    const key = await derivePassphraseKey(typed, {
      salt: salt!,
      scrypt: scrypt!,
      run: nativeScrypt,
    });
    if (key.public_key === public_key) return { key_id, key };
  }
  return null;
}

/** The deed as a question names it, such as `to approve` and the id. */
export function purposeOf({ verb, action_id }: Pick<Challenge, "verb" | "action_id">): string {
  if (action_id === null) {
    return `to ${verb === "rollback" ? "roll back the session" : VERB_TEXTS[verb]}`;
  }
  const deed = verb === "approve_with_edit" ? "approve your edit of" : VERB_TEXTS[verb];
  return `to ${deed} ${action_id}`;
}

function wrongPassphrase(): CliError {
  return new CliError("Cannot prove that a person decides: the passphrase is wrong", {
    next: "the same command with the right passphrase; gate proof status shows the key",
  });
}

function needsPasskey(
  { action_id = null, project_id = null }: Purpose,
  port: number,
): CliError {
  const why = "this home's proof is a passkey, and only a browser can use it";
  return new CliError(`Cannot prove that a person decides: ${why}`, {
    next: `gate dashboard, then open ${cardLink({ action_id, project_id, port })}`,
  });
}

/** The address of an action's card. Passkeys work on `localhost`, not on an IP address. */
function cardLink({ action_id, project_id, port }: {
  action_id: string | null;
  project_id: string | null;
  port: number;
}): string {
  const base = `http://localhost:${port}`;
  if (action_id === null) return `${base}/`;
  const query = new URLSearchParams({ ...project_id && { project: project_id }, id: action_id });
  return `${base}/approvals?${query}`;
}

/** The state of the proof. */
export async function readProof(io: Io, options: { start?: boolean } = {}): Promise<ProofStatus> {
  const client = await connect(io, { scope: "viewer", ...options });
  return await unwrap(client.api.proof.$get());
}
