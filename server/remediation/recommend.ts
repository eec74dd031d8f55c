import { counted, isDone, isGrave, readDeeds, type RemediationSource } from "./deeds.ts";
import { blocksOf, evaluateSession } from "./evaluate_session.ts";
import type { Block, Compliance, Recommendations } from "./schema.ts";
import type { Deed } from "./store.ts";

type Recommendation = Recommendations[number];

/** The facts about a session that its recommendations rest on. */
interface Facts {
  session_id: string;
  is_open: boolean;
  violations: Compliance["violations"];
  /** A guarded file changed, or gate has blocked the session. */
  is_grave: boolean;
  deeds: readonly Deed[];
  /** The actions that can be rolled back. */
  undoable: readonly Deed[];
  blocks: readonly Block[];
}

const MOST_GRANTS = 20;

/** The strategies that fit a session, the best first, with the call of each. @throws GateError `not_found` */
export async function recommend(
  source: RemediationSource,
  session_id: string,
): Promise<Recommendations> {
  const facts = await gatherFacts(source, session_id);
  return [
    ...rejectHeld(facts),
    ...rollBackRisky(facts),
    ...rollBackSession(facts),
    ...revokeGrants(facts),
    ...endSession(facts),
    ...liftBlocks(facts),
    reviewChanges(facts),
  ].toSorted((a, b) => b.score - a.score);
}

async function gatherFacts(source: RemediationSource, session_id: string): Promise<Facts> {
  const session = await source.sessions.get(session_id);
  const deeds = await readDeeds(source, session_id);
  const { violations } = await evaluateSession(source, session_id);
  return {
    session_id,
    is_open: session.ended_at === null,
    violations,
    is_grave: violations.some(({ rule }) =>
      rule === "guarded_file_changed" || rule === "session_blocked"
    ),
    deeds,
    undoable: deeds.filter((deed) => isDone(deed) && deed.reversible),
    blocks: await blocksOf(source, session),
  };
}

function rejectHeld({ session_id, violations, deeds, is_grave }: Facts): Recommendation[] {
  const held = deeds.filter(({ status }) => status === "pending");
  if (violations.length === 0 || held.length === 0) return [];
  const waits = held.length === 1 ? "waits" : "wait";
  return [{
    strategy: "reject_held",
    score: is_grave ? 95 : 60,
    why: `${counted(held.length, "action")} of the session ${waits} for a person`,
    steps: ["Reject everything that the session has submitted and nobody has approved"],
    call: { method: "POST", path: "/api/actions/reject", body: { session_id } },
  }];
}

function rollBackRisky({ session_id, undoable, is_grave }: Facts): Recommendation[] {
  const grave = undoable.filter(isGrave);
  if (grave.length === 0 || grave.length === undoable.length) return [];
  return [{
    strategy: "rollback_risky_actions",
    score: is_grave ? 80 : 70,
    why: `${grave.length} of ${undoable.length} changes have a high or critical risk`,
    steps: [
      "Look at what the rollback would change (dry_run)",
      "Roll these actions back; gate refuses if later actions depend on them",
    ],
    call: {
      method: "POST",
      path: `${pathOf(session_id)}/rollback-partial`,
      body: { action_ids: grave.map(({ id }) => id), dry_run: true },
    },
  }];
}

function rollBackSession(
  { session_id, violations, undoable, is_grave }: Facts,
): Recommendation[] {
  if (undoable.length === 0 || violations.length === 0) return [];
  return [{
    strategy: "rollback_session",
    score: is_grave ? 90 : undoable.every(isGrave) ? 75 : 45,
    why: `${counted(undoable.length, "change")} of the session can be rolled back`,
    steps: [
      "Look at what the rollback would change (dry_run)",
      "Roll the whole session back, newest first, all or nothing",
    ],
    call: { method: "POST", path: `${pathOf(session_id)}/rollback`, body: { dry_run: true } },
  }];
}

function revokeGrants({ violations, deeds }: Facts): Recommendation[] {
  if (!violations.some(({ rule }) => rule === "review_skipped")) return [];
  const grants = new Set(deeds.flatMap(({ grant_id }) => grant_id ?? []));
  return [...grants].slice(0, MOST_GRANTS).map((grant_id) => ({
    strategy: "revoke_grant",
    score: 65,
    why: `grant ${grant_id} let actions of high risk pass without a review`,
    steps: ["Revoke the grant, so that a person is asked again"],
    call: { method: "DELETE", path: `/api/grants/${grant_id}`, body: null },
  }));
}

function endSession({ session_id, is_open, violations, is_grave }: Facts): Recommendation[] {
  if (!is_open || violations.length === 0) return [];
  return [{
    strategy: "end_session",
    score: is_grave ? 85 : 30,
    why: "the session is open, so its agent can go on",
    steps: ["End the session; the agent has to open a new one"],
    call: { method: "POST", path: `${pathOf(session_id)}/end`, body: {} },
  }];
}

function liftBlocks({ blocks }: Facts): Recommendation[] {
  return blocks.map(({ id, reason }) => ({
    strategy: "lift_block",
    score: 20,
    why: `gate has blocked it: ${reason}`,
    steps: ["Look at what the session did", "Lift the block, if it was right to do so"],
    call: {
      method: "POST",
      path: `/api/remediation/blocks/${id}/unblock`,
      body: { reason: "seen" },
    },
  }));
}

function reviewChanges({ session_id, violations }: Facts): Recommendation {
  const isClean = violations.length === 0;
  return {
    strategy: "review_changes",
    score: isClean ? 10 : 50,
    why: isClean
      ? "nothing in the session breaks a rule"
      : `${counted(violations.length, "finding")} for a person to look at`,
    steps: ["Read what the session changed"],
    call: { method: "GET", path: `${pathOf(session_id)}/diff`, body: null },
  };
}

function pathOf(session_id: string): string {
  return `/api/sessions/${encodeURIComponent(session_id)}`;
}
