import { canonical } from "../evidence/canonical.ts";
import { fromBase64Url, toHex, utf8 } from "./encoding.ts";
import { INVITATION_MS, loginAsked, statementOfInvited } from "./invitation.ts";
import { checkRecord, type ProofCrypto } from "./record_check.ts";
import type { EnrolledKey, ProofChange } from "./schema.ts";

/**
 * The request to set, change or remove a proof, in the form that its challenge covers. `holder` is
 * the further member whose key it is.
 */
export function changeAsked(kind: ProofChange["kind"], key: EnrolledKey | null, holder?: string) {
  const whose = holder === undefined ? {} : { holder };
  if (key === null) return { kind, ...whose };
  const { key_id, public_key, salt, scrypt, role } = key;
  return { kind, key_id, public_key, salt, scrypt, ...role && { role }, ...whose };
}

/** The verb of a change, for the proof by the key before it. */
export function verbOfChange(kind: ProofChange["kind"]): "change_proof" | "remove_proof" {
  return kind === "none" ? "remove_proof" : "change_proof";
}

/** The newest change of the key of the home, or of this further member; null if there is none. */
export function lastChange(
  changes: readonly ProofChange[],
  holder?: string,
): ProofChange | null {
  return changes.findLast((change) => change.holder === holder) ?? null;
}

/** The keys that decide after these changes: the key of the home first, then those of members. */
export function keysOf(changes: readonly ProofChange[]): EnrolledKey[] {
  const newest = new Map(changes.map((change) => [change.holder, change.key]));
  const home = newest.get(undefined) ?? null;
  newest.delete(undefined);
  return [home, ...newest.values()].filter((key) => key !== null);
}

/** The changes of a home's proof: each is proven with a key before it. */
export class History {
  readonly changes: ProofChange[] = [];
  readonly #crypto: ProofCrypto;
  /** The nonces of the proofs so far: each permits one change. */
  readonly #nonces = new Set<string>();
  #keys: EnrolledKey[] = [];

  constructor(crypto: ProofCrypto) {
    this.#crypto = crypto;
  }

  /** The key of the home; null while none is enrolled. */
  get key(): EnrolledKey | null {
    return lastChange(this.changes)?.key ?? null;
  }

  /** The keys that decide now. */
  get keys(): readonly EnrolledKey[] {
    return this.#keys;
  }

  /** Adds a change. Returns why it does not follow from the ones before; null if it does. */
  async add(value: unknown): Promise<string | null> {
    try {
      const change = value as ProofChange;
      const fault = await this.#faultOf(change);
      if (fault !== null) return fault;
      this.changes.push(change);
      this.#keys = keysOf(this.changes);
      if (change.proof) this.#nonces.add(change.proof.challenge.nonce);
      return null;
    } catch {
      // Not what the gate writes: a field is missing or of another type.
      return "it is no change of the proof";
    }
  }

  async #faultOf(change: ProofChange): Promise<string | null> {
    const newest = this.changes.at(-1);
    const last = lastChange(this.changes, change.holder);
    const { kind, key, proof, before } = change;
    if (change.number !== this.changes.length + 1) return "a change before it is missing";
    if (change.previous_sha256 !== (newest ? await this.#digest(newest) : null)) {
      return "it does not follow the change before it";
    }
    // The kind before the first change of the home is not in the log.
    const isFirst = last === null && change.holder === undefined;
    const known = { kind: last?.kind ?? "none", key_id: last?.key?.key_id ?? null };
    if (!isFirst && (before.kind !== known.kind || before.key_id !== known.key_id)) {
      return "it names another state before it";
    }
    if ((key !== null) !== (kind === "passphrase" || kind === "passkey")) {
      return "its kind and its key differ";
    }
    if (key !== null && key.kind !== kind) return "its kind and its key differ";
    if (change.holder !== undefined) return await this.#faultOfMember(change, change.holder, last);
    if (key?.role !== undefined || change.invited !== undefined) return "it is a member's";
    if (!last?.key) return proof === null ? null : "it names a key that was not enrolled";
    if (proof === null) return "the key before it did not prove it";
    return await this.#faultOfProof(change, last.key);
  }

  /** A further member's key is permitted by their own key before it, or by an admin's. */
  async #faultOfMember(
    change: ProofChange,
    holder: string,
    last: ProofChange | null,
  ): Promise<string | null> {
    const { kind, key, proof, invited } = change;
    const home = this.key;
    if (home === null) return "no key of the home is enrolled";
    if (holder === home.member_id) return "the person of the home's key has no further one";
    if (kind === "token" || proof === null) return "no key that is enrolled proved it";
    if (change.accepted_sha256 !== this.changes.at(-1)!.accepted_sha256) {
      return "it changes the accepted configs";
    }
    if (key !== null && (key.member_id !== holder || key.role === undefined)) {
      return "it is the key of another person";
    }
    if (this.#nonces.has(proof.challenge.nonce)) return "its proof was used before";
    const signer = this.#keys.find(({ key_id }) => key_id === proof.key_id);
    if (!signer) return "no key that is enrolled proved it";
    if (invited !== undefined) return await this.#faultOfInvited(change, signer);
    const isOwn = signer.member_id === holder;
    const isRemoved = key === null && last?.key;
    if (!isOwn && !(isRemoved && signer.role !== "reviewer")) {
      return "neither the member nor an admin proved it";
    }
    if (key !== null && key.role !== last?.key?.role) return "it changes the rights of the key";
    if (key === null && !last?.key) return "there is no key to remove";
    return await this.#faultOfProof(change, signer);
  }

  async #faultOfInvited(
    { key, proof, invited, holder, at }: ProofChange,
    admin: EnrolledKey,
  ): Promise<string | null> {
    if (key === null) return "its kind and its key differ";
    const { challenge } = proof!;
    const { public_key, signature } = invited!;
    const asked = loginAsked({ member_id: holder!, role: key.role!, invitation: public_key });
    if (challenge.verb !== "issue_login" || challenge.digest !== await this.#digest(asked)) {
      return "its login link is for something else";
    }
    if (Date.parse(at) > Date.parse(challenge.expires_at) + INVITATION_MS) {
      return "its login link had expired";
    }
    const link = {
      algorithm: "Ed25519" as const,
      jwk: { kty: "OKP", crv: "Ed25519", x: public_key },
    };
    const bytes = fromBase64Url(signature);
    const isHolders = bytes !== null &&
      await this.#crypto.verify(link, utf8(statementOfInvited(key)), bytes);
    if (!isHolders) return "the holder of the login link did not sign its key";
    return await checkRecord(proof!, admin, this.#crypto);
  }

  async #faultOfProof(
    { kind, key, holder, proof }: ProofChange,
    signer: EnrolledKey,
  ): Promise<string | null> {
    const { challenge } = proof!;
    const asked = await this.#digest(changeAsked(kind, key, holder));
    if (challenge.verb !== verbOfChange(kind) || challenge.digest !== asked) {
      return "its proof is for something else";
    }
    return await checkRecord(proof!, signer, this.#crypto);
  }

  async #digest(value: unknown): Promise<string> {
    return toHex(await this.#crypto.sha256(utf8(canonical(value))));
  }
}

/** How two lists of changes differ. */
export type Relation = "same" | "shorter" | "longer" | "other";

/** How `changes` relates to `known`: `shorter` when it is the beginning of it. */
export function compareHistories(
  changes: readonly ProofChange[],
  known: readonly ProofChange[],
): Relation {
  const common = Math.min(changes.length, known.length);
  for (let i = 0; i < common; i++) {
    if (canonical(changes[i]) !== canonical(known[i])) return "other";
  }
  if (changes.length === known.length) return "same";
  return changes.length < known.length ? "shorter" : "longer";
}
