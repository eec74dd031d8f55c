import { computed, signal } from "@preact/signals";
import type { EvidenceVerification } from "../../server/evidence/schema.ts";
import { type Known, verifyEvidence } from "../../server/evidence/verify.ts";
import { LedgerProofs } from "../../server/proof/ledger_check.ts";
import { type Decider, Tally } from "./deciders.tsx";
import { BROWSER, BROWSER_PROOFS, readKnown } from "./prover.ts";
import { type Content, evidenceOf } from "./read.ts";

/** The state of the check. */
export type Verdict =
  | { state: "checking"; share: number }
  | { state: "done"; result: EvidenceVerification; deciders: Decider[] }
  | { state: "failed"; why: string };

export const verdict = signal<Verdict>({ state: "checking", share: 0 });

/** The search text, and the number of events shown. */
export const search = signal("");
export const shown = signal(200);

/** The indexes of the lines that contain every word, newest first. */
export function matches({ lines }: Content) {
  return computed(() => {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const found: number[] = [];
    for (let at = lines.length - 1; at >= 0; at--) {
      const line = words.length > 0 ? lines[at]!.toLowerCase() : "";
      if (words.every((word) => line.includes(word))) found.push(at);
    }
    return found;
  });
}

/** Checks the log, and compares it with a typed key or checkpoint. */
export async function check(content: Content, typed = ""): Promise<void> {
  verdict.value = { state: "checking", share: 0 };
  try {
    const known = typed.trim() === "" ? {} : await readKnown(typed);
    if (known === null) throw new Error("your input is neither a key nor a checkpoint");
    verdict.value = await run(content, known);
  } catch (error) {
    verdict.value = { state: "failed", why: (error as Error).message };
  }
}

async function run(content: Content, known: Known): Promise<Verdict> {
  const tally = new Tally();
  const hear = (share: number) => {
    verdict.value = { state: "checking", share };
  };
  const result = await verifyEvidence(evidenceOf(content, hear), known, {
    ...BROWSER,
    proofs: new LedgerProofs(BROWSER_PROOFS),
    hear: (events) => events.forEach((event) => tally.add(event)),
  });
  return { state: "done", result, deciders: tally.deciders() };
}
