import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { ROWS } from "../../../../server/policy/programs/rows.ts";
import { SUBWRAPPERS, WRAPPERS } from "../../../../server/policy/programs/wrappers.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import { CASES, evaluateCommand } from "../score.ts";

const balanced = compilePolicy({
  global: null,
  project: policyTemplate("balanced"),
  override_global: false,
});
const POLICIES = [undefined, balanced];

/** The cases that are held, with the policy. */
const HELD = POLICIES.flatMap((policy) =>
  CASES.filter(({ command }) => evaluateCommand(command, policy).decision.effect !== "allow")
    .map(({ command }) => ({ command, policy }))
);

/** The held commands that are allowed without the record. */
function loosened(table: Record<string, unknown>, name: string): string[] {
  const named = new RegExp(`(^|[^\\w-])${escape(name)}([^\\w-]|$)`);
  const record = table[name];
  delete table[name];
  try {
    return HELD.filter(({ command, policy }) =>
      named.test(command) && evaluateCommand(command, policy).decision.effect === "allow"
    ).map(({ command }) => command);
  } finally {
    table[name] = record;
  }
}

describe("a program without its record is never allowed more", () => {
  test.each([["rows", ROWS], ["wrappers", WRAPPERS], ["subcommands", SUBWRAPPERS]])(
    "%s",
    (_, table: Record<string, unknown>) => {
      const found = Object.keys(table).map((name) => [name, loosened(table, name)] as const);
      expect(found.filter(([, commands]) => commands.length > 0)).toEqual([]);
    },
    60_000,
  );
});

function escape(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
