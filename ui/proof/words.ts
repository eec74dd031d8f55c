import type { Challenge, ProofStatus, ProofVerb } from "../../server/proof/schema.ts";

const VERB_TEXTS: Record<ProofVerb, string> = {
  accept_config: "accept changed rules",
  approve: "approve an action",
  approve_with_edit: "approve an action with your edit",
  change_policies: "change the rules",
  change_proof: "replace the key that approves",
  change_routes: "change the approval routes",
  change_team: "change the team",
  issue_login: "create a member’s login link",
  lift_block: "lift the block of a session",
  move_ledger: "move a ledger to or from a server",
  register_project: "register a project",
  remove_project: "remove a project",
  remove_proof: "remove the key that approves",
  replay: "replay an action",
  rollback: "roll back",
  trust_override: "trust rules that override the global ones",
};

/** The deed of challenges in words: "approve an action", "approve 3 actions". */
export function deedOf(challenges: readonly Challenge[]): string {
  const [first] = challenges;
  if (first === undefined) return "decide";
  // Only approvals are signed together.
  if (challenges.length > 1) return `approve ${challenges.length} actions`;
  return VERB_TEXTS[first.verb];
}

/** The names of the kinds of proof. */
export const KIND_NAMES: Record<ProofStatus["kind"], string> = {
  none: "Not set",
  token: "None (any program of this user can approve)",
  passphrase: "Passphrase",
  passkey: "Passkey",
};
