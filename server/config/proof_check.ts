import type { Caller } from "../auth/schema.ts";
import type { ProofKind, ProofRecord, ProofVerb } from "../proof/schema.ts";

/** The proofs of a person, as far as the configs need them. */
export interface ProofCheck {
  /** The kind of proof; a problem means that nobody knows who may decide. */
  status(): Promise<{ kind: ProofKind; problem: string | null }>;
  /** The hash of what was accepted before the newest change of the proof; see `seal()`. */
  readonly sealed_sha256: string | null;
  /** Whether a key of this home signed this deed. */
  isValid(
    record: ProofRecord,
    about: { verbs: readonly ProofVerb[]; project_id: string | null; digest: string },
  ): Promise<boolean>;
  /** The proof of the caller; null where none is needed. @throws GateError `proof_required` */
  require(caller: Caller, deed: {
    verb: ProofVerb;
    project_id: string | null;
    action_id: string | null;
    digest: string;
    head: string | null;
  }): Promise<ProofRecord | null>;
}
