import { expect, test } from "vitest";
import { z } from "zod";
import { parse } from "../../server/parse.ts";

const Body = z.strictObject({ input: z.record(z.string(), z.number()).optional() });

test.each([
  ["the whole value", 7, "", "must be an object, not a number"],
  ["a field", { input: "x" }, "/input", "must be an object, not a text"],
  [
    "a key with / and ~",
    { input: { "a/b~": "x" } },
    "/input/a~1b~0",
    "must be a number, not a text",
  ],
])("parse() names %s by its JSON pointer", (_what, value, pointer, message) => {
  const error = failure(() => parse(Body, value));
  expect(error.fields.errors).toEqual([{ pointer, message: expect.stringContaining(message) }]);
  const where = pointer === "" ? "" : `"${pointer}": `;
  expect(error.message).toBe(
    `Cannot read the input: ${where}${message}; correct it and send the request again`,
  );
});

test("parse() lists up to 20 errors", () => {
  const input = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, "x"]));
  expect(failure(() => parse(Body, { input })).fields.errors).toHaveLength(20);
});

function failure(run: () => unknown): { message: string; fields: { errors: unknown[] } } {
  try {
    run();
  } catch (error) {
    return error as { message: string; fields: { errors: unknown[] } };
  }
  throw new Error("no error");
}
