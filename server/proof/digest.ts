import { sha256 } from "../db/chain.ts";
import { canonical } from "../evidence/canonical.ts";

/** SHA-256 of the RFC 8785 form of what is asked for: the `digest` of its challenge. */
export function digestOf(asked: unknown): string {
  return sha256(canonical(asked));
}
