import type { Database } from "../db/database.ts";
import type { ProofChange, ProofKind, ProofStatus } from "./schema.ts";
import { findStart, insertTokenStart, listChanges } from "./store.ts";

export interface ProofServices {
  registry: Database;
  /** `approvals.proof` of the global config at this moment; null when it is absent or unreadable. */
  configured: () => "token" | "passphrase" | "passkey" | null;
  /** `approvals.unlock_seconds` of the global config at this moment; null without a limit. */
  unlock_seconds: () => number | null;
}

/** What a decision of a person needs, on this machine. */
export class Proofs {
  readonly #services: ProofServices;
  #start: "none" | "token";
  #changes: ProofChange[];

  private constructor(
    services: ProofServices,
    { start, changes }: { start: "none" | "token"; changes: ProofChange[] },
  ) {
    this.#services = services;
    this.#start = start;
    this.#changes = changes;
  }

  /** Reads what is enrolled. A new home whose config says `token` records that choice. */
  static async open(services: ProofServices): Promise<Proofs> {
    const { registry } = services;
    const changes = await listChanges(registry);
    const proofs = new Proofs(services, { start: await findStart(registry), changes });
    await proofs.#adoptToken();
    return proofs;
  }

  /** The kind of proof and the enrolled keys. */
  status(): Promise<ProofStatus> {
    const key = this.#changes.at(-1)?.key;
    const unlock_seconds = this.#services.unlock_seconds();
    const enrolled = key ? [key] : [];
    return Promise.resolve({ kind: this.#kind, enrolled, problem: null, unlock_seconds });
  }

  get #kind(): ProofKind {
    return this.#changes.at(-1)?.kind ?? this.#start;
  }

  async #adoptToken(): Promise<void> {
    const { registry, configured } = this.#services;
    if (this.#changes.length > 0 || this.#start === "token" || configured() !== "token") return;
    await insertTokenStart(registry);
    this.#start = "token";
  }
}
