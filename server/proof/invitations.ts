import { INVITATION_MS } from "./invitation.ts";
import type { ProofRecord } from "./schema.ts";

/** The right of a member to set a key of their own, which an admin proved. */
export interface Invitation {
  member_id: string;
  role: "reviewer" | "admin";
  /** The admin's proof of the login link. */
  record: ProofRecord;
}

const MAX_INVITATIONS = 256;

/** The keys of login links that nobody has used to set a key. Only memory holds them. */
export class Invitations {
  readonly #elapsed: () => number;
  readonly #open = new Map<string, Invitation & { issued: number }>();

  /** @param elapsed milliseconds of a clock that only goes forward */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Remembers a link by its public key. A newer link of the same member replaces the older ones. */
  add(public_key: string, invitation: Invitation): void {
    for (const [known, { member_id }] of this.#open) {
      if (member_id === invitation.member_id) this.#open.delete(known);
    }
    this.#open.set(public_key, { ...invitation, issued: this.#elapsed() });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MAX_INVITATIONS) break;
      this.#open.delete(oldest);
    }
  }

  /** The invitation of a member by the public key of their link; undefined when used or expired. */
  find(public_key: string, member_id: string): Invitation | undefined {
    const found = this.#open.get(public_key);
    if (found?.member_id !== member_id) return undefined;
    return this.#elapsed() - found.issued <= INVITATION_MS ? found : undefined;
  }

  /** Uses a link up. */
  end(public_key: string): void {
    this.#open.delete(public_key);
  }
}
