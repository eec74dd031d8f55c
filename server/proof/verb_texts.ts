import type { ProofVerb } from "./schema.ts";

/** Each deed that needs a proof, as errors and questions name it. */
export const VERB_TEXTS: Record<ProofVerb, string> = {
  accept_config: "accept the config",
  approve: "approve",
  approve_with_edit: "approve with an edit",
  change_policies: "change the policies",
  change_proof: "change the proof",
  change_routes: "change the approval routes",
  change_team: "change the team",
  issue_login: "create a login link",
  lift_block: "lift the block",
  move_ledger: "move the ledger",
  register_project: "register the project",
  remove_project: "remove the project",
  remove_proof: "remove the proof",
  replay: "replay",
  rollback: "roll back",
  trust_override: "trust the override",
};
