import { expect, test } from "vitest";
import {
  ERROR_STATUS,
  type ErrorCode,
  GateError,
  reasonOfCode,
  traceOf,
} from "../../server/errors.ts";

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
  ["gate log", "Cannot do it: it is gone; run gate log"],
  ["correct the file", "Cannot do it: it is gone; correct the file"],
])("the next step %j is a part of the detail and a member", (next, detail) => {
  const error = new GateError("conflict", "Cannot do it: it is gone", { next });
  const parts = { detail, summary: "Cannot do it: it is gone", next };
  expect(error.message).toBe(detail);
  expect(error.toProblem()).toMatchObject(parts);
  // Passed on by another machine, with the fields that it had.
  expect(new GateError(error.code, error.message, { fields: error.fields }).toProblem())
    .toMatchObject(parts);
});

test("a problem without a next step has no such members", () => {
  expect(Object.keys(new GateError("conflict", "No").toProblem())).not.toContain("next");
});

test.each([
  ["EACCES", "permission denied"],
  ["EXDEV", "EXDEV"],
  [undefined, "unknown error"],
])("reasonOfCode(%j) is %j", (code, reason) => {
  expect(reasonOfCode(code)).toBe(reason);
});

test("the log has the message of an error whose stack lacks it, as those of libSQL do", () => {
  const error = Object.assign(new Error("attempt to write"), {
    stack: "Error\n    at exec (a.js)",
  });
  expect(traceOf(error)).toBe("Error: attempt to write\nError\n    at exec (a.js)");
  const whole = new Error("cause");
  expect(traceOf(whole)).toBe(whole.stack);
  expect(traceOf("thrown text")).toBe("thrown text");
});
