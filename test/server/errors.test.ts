import { expect, test } from "vitest";
import { ERROR_STATUS, type ErrorCode, GateError, reasonOfCode } from "../../server/errors.ts";

test.each(Object.entries(ERROR_STATUS))("a %s problem is answered with %i", (code, status) => {
  const problem = new GateError(code as ErrorCode, "Cannot do it", { fields: { extra: 1 } })
    .toProblem();
  expect(problem).toMatchObject({ code, status, detail: "Cannot do it", extra: 1 });
});

test("extra members never replace the standard ones", () => {
  const problem = new GateError("conflict", "No", { fields: { status: 200, code: "x" } })
    .toProblem();
  expect(problem).toMatchObject({ status: 409, code: "conflict" });
});

test.each([
  ["EACCES", "permission denied"],
  ["EXDEV", "EXDEV"],
  [undefined, "unknown error"],
])("reasonOfCode(%j) is %j", (code, reason) => {
  expect(reasonOfCode(code)).toBe(reason);
});
