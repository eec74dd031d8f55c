/** Vitest's order of the files: those that take long start first, so that none runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, the longest first; Vitest orders the others by their size. */
export const LONGEST = [
  // units and HTTP
  "test/cli/scenario/self.test.ts",
  "test/server/hooks/guarding.test.ts",
  "test/cli/scenario/oracles.test.ts",
  "test/server/policy/programs/option_fuzz.test.ts",
  "test/dist/bun_environment.test.ts",
  "test/cli/proof/proof.test.ts",
  "test/server/projects/sharing.test.ts",
  "test/cli/witness/witness.test.ts",
  "test/server/proof/passphrase.test.ts",
  "test/server/actions/histories.test.ts",
  "test/cli/hostile_surroundings.test.ts",
  "test/cli/scenario/silent.test.ts",
  "test/server/projects/ledger_places.test.ts",
  "test/server/projects/sharing_passed.test.ts",
  "test/cli/commands/members.test.ts",
  "test/server/actions/execute/crash.test.ts",
  "test/cli/proof/between.test.ts",
  "test/cli/scenario/twins.test.ts",
  "test/server/projects/sharing_races.test.ts",
  "test/server/sessions/model.test.ts",
  // programs
  // The first two only wait, so that beside them two others keep the processors busy.
  "test/e2e/left_ports.test.ts",
  "test/e2e/hooks_silent.test.ts",
  "test/e2e/crash.test.ts",
  "test/runtime/smoke.test.ts",
  "test/e2e/every_command.test.ts",
  "test/e2e/sandbox.test.ts",
  "test/e2e/two_versions.test.ts",
  "test/e2e/first_approval.test.ts",
  "test/e2e/attacks/commands.test.ts",
  "test/e2e/members.test.ts",
  "test/e2e/scenario_help.test.ts",
  "test/e2e/scenario_run.test.ts",
  "test/e2e/upgrade.test.ts",
  "test/e2e/killed.test.ts",
  "test/e2e/scenario_tool.test.ts",
  "test/e2e/http_corpus.test.ts",
  "test/e2e/bun_environment.test.ts",
  // browser
  "test/browser/every_action/queue_by_keyboard.test.ts",
  "test/browser/every_action/pages_by_keyboard.test.ts",
  "test/browser/proof.test.ts",
  "test/browser/every_action.test.ts",
  "test/browser/every_action/queue_by_mouse.test.ts",
  "test/browser/every_action/pages_by_mouse.test.ts",
  "test/browser/pages.test.ts",
  "test/browser/refetch.test.ts",
  "test/browser/unnoticed_end.test.ts",
  "test/browser/agents.test.ts",
  "test/browser/doctor.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // A project's files stay together: the processes of one end when a file of another follows.
    return sorted.sort((a, b) => a.project.name === b.project.name ? rank(a) - rank(b) : 0);
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
  return at < 0 ? LONGEST.length : at;
}
