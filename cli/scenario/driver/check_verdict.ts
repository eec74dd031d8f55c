import type { Verdict } from "../execute/verdict.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { SubmittedVerdict } from "./tools.ts";

/**
 * What a submitted verdict is worth once each claim has been looked up in the tool's own ledger. A
 * verdict without evidence, or with a claim that is not so, is inconclusive: never a pass, never a
 * failure.
 */
export function checkVerdict(
  submitted: SubmittedVerdict,
  entries: readonly LedgerEntry[],
): Verdict {
  const problem = problemOf(submitted, entries);
  if (problem) return { status: "inconclusive", reason: `Not accepted: ${problem}` };
  if (submitted.verdict === "inconclusive") {
    return { status: "inconclusive", reason: submitted.reason || "The driver could not tell" };
  }
  const status = submitted.verdict === "pass" ? "passed" : "failed";
  return { status, reason: `${submitted.reason} (${submitted.evidence.join(", ")})` };
}

function problemOf(submitted: SubmittedVerdict, entries: readonly LedgerEntry[]): string | null {
  if (submitted.verdict === "inconclusive") return null;
  if (entries.length === 0) return "no request was sent";
  if (submitted.evidence.length === 0 || submitted.claims.length === 0) {
    return "it cites no evidence";
  }
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const unknown = [...submitted.evidence, ...submitted.claims.map(({ id }) => id)]
    .find((id) => !byId.has(id));
  if (unknown !== undefined) return `it cites ${unknown.slice(0, 20)}, which is not in the ledger`;
  const bare = submitted.evidence.find((id) => !submitted.claims.some((one) => one.id === id));
  if (bare !== undefined) return `it cites ${bare.slice(0, 20)} and claims nothing of it`;
  for (const claim of submitted.claims) {
    const wrong = wrongClaim(claim, byId.get(claim.id)!);
    if (wrong) return wrong;
  }
  if (submitted.verdict === "pass") {
    const crash = entries.find(({ status, statuses }) =>
      [status, ...(statuses ?? [])].some((one) => one !== null && one >= 500)
    );
    if (crash) return `it says pass, but ${crash.id} was answered with a server error`;
    // Whoever picks among the answers could leave out the one that shows the failure.
    const left = entries.find(({ id }) => !submitted.evidence.includes(id));
    if (left) return `it says pass, but leaves out ${left.id}`;
  }
  return null;
}

function wrongClaim(
  claim: SubmittedVerdict["claims"][number],
  { id, status, statuses, body }: LedgerEntry,
): string | null {
  if (claim.status === undefined && !claim.body_contains?.trim()) {
    return `its claim on ${id} says nothing`;
  }
  const seen = statuses ?? [status];
  if (claim.status !== undefined && !seen.includes(claim.status)) {
    return `it claims ${claim.status} for ${id}, which was answered ${seen.join(", ")}`;
  }
  if (claim.body_contains !== undefined && !body.includes(claim.body_contains)) {
    return `it claims a text in the answer to ${id} that is not there`;
  }
  return null;
}
