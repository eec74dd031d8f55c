import { expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { evaluateCommand } from "../score.ts";

/** One forbidden file and one forbidden program; everything else is allowed. */
const policy = compilePolicy({
  global: null,
  project: {
    defaultEffect: "allow",
    blockedPaths: [".env"],
    blockedCommands: ["git push --force"],
  },
  override_global: false,
});

/** Tests what the records of a family say: commands that are stopped, and those that are not. */
export function testFamily({ stopped, free }: { stopped: string[]; free: string[] }): void {
  const effectOf = (command: string) => evaluateCommand(command, policy).decision.effect;
  test.each(stopped)("%s is stopped", (command) => expect(effectOf(command)).not.toBe("allow"));
  test.each(free)("%s is free", (command) => expect(effectOf(command)).toBe("allow"));
}
