import { expect, test } from "vitest";
import { purposeOf } from "../../../cli/proof/prover.ts";
import { ProofVerb } from "../../../server/proof/schema.ts";
import { createTerminal } from "../terminal.ts";

const ID = "0199a1b2-0000-7000-8000-000000000000";

const QUESTIONS: Record<ProofVerb, string> = {
  accept_config: "to accept the config",
  approve: `to approve ${ID}`,
  approve_with_edit: `to approve your edit of ${ID}`,
  change_policies: "to change the policies",
  change_proof: "to change the proof",
  change_routes: "to change the approval routes",
  change_team: "to change the team",
  issue_login: "to create a login link",
  lift_block: "to lift the block",
  move_ledger: "to move the ledger",
  register_project: "to register the project",
  remove_project: "to remove the project",
  remove_proof: "to remove the proof",
  replay: `to replay ${ID}`,
  rollback: `to roll back ${ID}`,
  trust_override: "to trust the override",
};

test.each(ProofVerb.options)("the question for %s is a sentence", (verb) => {
  const action_id = QUESTIONS[verb].includes(ID) ? ID : null;
  expect(purposeOf({ verb, action_id })).toBe(QUESTIONS[verb]);
});

test("the rollback of a session names the session", () => {
  expect(purposeOf({ verb: "rollback", action_id: null })).toBe("to roll back the session");
});

test.each([[["rollback"]], [["session", "rollback"]]])(
  "gate %s --help names its proof",
  async (args) => {
    const terminal = await createTerminal();
    const { stdout } = await terminal.run([...args, "--help"]);
    expect(stdout).toContain("It asks for your passphrase once");
    expect(stdout).toContain("--dry-run asks for none");
    terminal.close();
  },
);
