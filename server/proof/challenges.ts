import { randomBytes } from "node:crypto";
import { CHALLENGE_MS } from "./place_check.ts";
import type { Challenge } from "./schema.ts";

const MAX_CHALLENGES = 1024;

export interface Clocks {
  /** Milliseconds since 1970. A person or a program can set this clock. */
  now: () => number;
  /** Milliseconds of a clock that only goes forward. */
  elapsed: () => number;
}

/** The challenges that nobody has answered yet. Each is good once, for a minute, in memory only. */
export class Challenges {
  readonly #clocks: Clocks;
  readonly #open = new Map<string, { challenge: Challenge; issued: number }>();

  constructor(clocks: Clocks) {
    this.#clocks = clocks;
  }

  /** A new challenge for this deed. */
  create(deed: Omit<Challenge, "nonce" | "expires_at">): Challenge {
    const { now, elapsed } = this.#clocks;
    const nonce = createNonce();
    const expires_at = new Date(now() + CHALLENGE_MS).toISOString();
    const challenge = { nonce, expires_at, ...deed };
    this.#open.set(nonce, { challenge, issued: elapsed() });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MAX_CHALLENGES) break;
      this.#open.delete(oldest);
    }
    return challenge;
  }

  /** Uses a challenge up. Null when the nonce is unknown, used or expired by either clock. */
  use(nonce: string): Challenge | null {
    const found = this.#open.get(nonce);
    this.#open.delete(nonce);
    if (!found) return null;
    const { now, elapsed } = this.#clocks;
    const isLate = elapsed() - found.issued > CHALLENGE_MS ||
      now() > Date.parse(found.challenge.expires_at);
    return isLate ? null : found.challenge;
  }

  /** Forgets all of them, or those of one person, because the key has changed. */
  clear(member_id?: string): void {
    for (const [nonce, { challenge }] of this.#open) {
      if (member_id === undefined || challenge.member_id === member_id) this.#open.delete(nonce);
    }
  }
}

/** 256 random bits in base64url. */
export function createNonce(): string {
  return randomBytes(32).toString("base64url");
}
