import { canonical } from "../evidence/canonical.ts";
import { toHex, utf8 } from "./encoding.ts";
import { checkRecord, type ProofCrypto } from "./record_check.ts";
import type { EnrolledKey, ProofChange } from "./schema.ts";

/** The request to set, change or remove a proof, in the form that its challenge covers. */
export function changeAsked(kind: ProofChange["kind"], key: EnrolledKey | null) {
  if (key === null) return { kind };
  const { key_id, public_key, salt, scrypt } = key;
  return { kind, key_id, public_key, salt, scrypt };
}

/** The verb of a change, for the proof by the key before it. */
export function verbOfChange(kind: ProofChange["kind"]): "change_proof" | "remove_proof" {
  return kind === "none" ? "remove_proof" : "change_proof";
}

/** The changes of a home's proof: each is proven with the key before it. */
export class History {
  readonly changes: ProofChange[] = [];
  readonly #crypto: ProofCrypto;

  constructor(crypto: ProofCrypto) {
    this.#crypto = crypto;
  }

  /** The key that decides now; null while none is enrolled. */
  get key(): EnrolledKey | null {
    return this.changes.at(-1)?.key ?? null;
  }

  /** Adds a change. Returns why it does not follow from the ones before; null if it does. */
  async add(value: unknown): Promise<string | null> {
    try {
      const change = value as ProofChange;
      const fault = await this.#faultOf(change);
      if (fault === null) this.changes.push(change);
      return fault;
    } catch {
      // Not what the gate writes: a field is missing or of another type.
      return "it is no change of the proof";
    }
  }

  async #faultOf(change: ProofChange): Promise<string | null> {
    const last = this.changes.at(-1);
    const { kind, key, proof } = change;
    if (change.number !== this.changes.length + 1) return "a change before it is missing";
    if (change.previous_sha256 !== (last ? await this.#digest(last) : null)) {
      return "it does not follow the change before it";
    }
    if (last && (change.before.kind !== last.kind || change.before.key_id !== keyId(last))) {
      return "it names another state before it";
    }
    if ((key !== null) !== (kind === "passphrase" || kind === "passkey")) {
      return "its kind and its key differ";
    }
    if (key !== null && key.kind !== kind) return "its kind and its key differ";
    if (!last?.key) return proof === null ? null : "it names a key that was not enrolled";
    if (proof === null) return "the key before it did not prove it";
    const { challenge } = proof;
    const asked = await this.#digest(changeAsked(kind, key));
    if (challenge.verb !== verbOfChange(kind) || challenge.digest !== asked) {
      return "its proof is for something else";
    }
    return await checkRecord(proof, last.key, this.#crypto);
  }

  async #digest(value: unknown): Promise<string> {
    return toHex(await this.#crypto.sha256(utf8(canonical(value))));
  }
}

function keyId(change: ProofChange): string | null {
  return change.key?.key_id ?? null;
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
