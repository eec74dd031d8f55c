import { expect, test } from "vitest";
import { requireReviewer } from "../../../server/auth/scopes.ts";
import { testCaller } from "../../helpers.ts";

test.each([
  ["roll back the action", "gate rollback", " or with gate rollback"],
  ["replay the action", null, ""],
])("requireReviewer() to %s names the command %j", (verb, command, shown) => {
  expect(() => requireReviewer(testCaller("viewer"), verb, command)).toThrow(
    new RegExp(
      `^Cannot ${verb}: the credential has scope "viewer"; ` +
        `a reviewer must do it, in the dashboard${shown}$`,
    ),
  );
  expect(() => requireReviewer(testCaller("reviewer"), verb, command)).not.toThrow();
});
