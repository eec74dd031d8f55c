import { describe, expect, test } from "vitest";
import { explain } from "../../cli/errors.ts";
import { ProblemError } from "../../server/client.ts";
import { GateError } from "../../server/errors.ts";
import { ExplainedError } from "../../server/proof/explained_error.ts";

const ID = "0199a1b2-0000-7000-8000-000000000001";

const CASES: [name: string, error: GateError, message: string, next: string | null][] = [
  [
    "a step of its own is the next command",
    new GateError("not_found", "Cannot find it: there is none", { next: "gate team list" }),
    "Cannot find it: there is none",
    "gate team list",
  ],
  [
    "its words decide nothing: a command in them is no next step",
    new GateError("invalid", "Cannot do it: it is wrong; run gate log"),
    "Cannot do it: it is wrong; run gate log",
    null,
  ],
  [
    "nor does the name of an action",
    new GateError("conflict", `Cannot keep action "${ID}": it changes`),
    `Cannot keep action "${ID}": it changes`,
    null,
  ],
  [
    "a conflict about an action shows it",
    new GateError("conflict", "Cannot approve it: it is expired", { fields: { action_id: ID } }),
    "Cannot approve it: it is expired",
    `gate show ${ID}`,
  ],
  [
    "another plan is shown before the decision",
    new GateError("digest_mismatch", "Cannot approve it", { fields: { action_id: ID } }),
    "Cannot approve it",
    `gate show ${ID}, then approve or reject what it shows now`,
  ],
  [
    "an unknown grant leads to the list of grants",
    new GateError("not_found", "Cannot find it", { fields: { unknown: "grant" } }),
    "Cannot find it",
    "gate grant list",
  ],
  [
    "an unknown kind leads nowhere",
    new GateError("not_found", "Cannot find it", { fields: { unknown: "toString" } }),
    "Cannot find it",
    null,
  ],
];

describe("explain", () => {
  test.each(CASES)("%s", (_name, error, message, next) => {
    expect(explain(error)).toEqual({ message, next });
    // The daemon's answer says the same.
    const sent = JSON.parse(JSON.stringify(error.toProblem()));
    expect(explain(new ProblemError(sent))).toEqual({ message, next });
  });

  test("gives an explained error in its own words", () => {
    const error = new ExplainedError("Cannot derive a key: the salt is not base64url");
    expect(explain(error)).toEqual({ message: error.message, next: null });
  });
});
