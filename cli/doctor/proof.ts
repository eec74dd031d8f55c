import { readProof } from "../proof/prover.ts";
import { describeKey, describeProof } from "../proof/describe.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

/** Checks that a decision needs a proof which no program of this user can give. */
export async function checkProof({ io, daemon }: CheckContext, found: Findings): Promise<void> {
  if (daemon === null) return found.ok("the running daemon knows it; none runs");
  const status = await readProof(io, { start: false });
  const { kind, enrolled, problem, open } = status;
  if (problem !== null) return found.fail(problem, "gate proof status");
  if (kind === "none" || kind === "token") {
    return found.warn(
      describeProof(status),
      open ? "gate daemon restart" : "gate proof set",
      open ? null : { kind: "page", page: "settings", project: null },
    );
  }
  found.ok(enrolled.map(describeKey).join(", "));
}
