import { readProof } from "../proof/prover.ts";
import { describeKey, KINDS } from "../proof/describe.ts";
import type { CheckContext, Findings } from "./context.ts";

/** Checks that a decision needs a proof which no program of this user can give. */
export async function checkProof({ io, daemon }: CheckContext, found: Findings): Promise<void> {
  if (daemon === null) return found.ok("the running daemon knows it; none runs");
  const { kind, enrolled, problem } = await readProof(io, { start: false });
  if (problem !== null) return found.fail(problem, "gate proof status");
  if (kind === "none" || kind === "token") {
    return found.warn(`${kind}: ${KINDS[kind]}`, "gate proof set");
  }
  found.ok(enrolled.map(describeKey).join(", "));
}
