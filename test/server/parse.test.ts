import { expect, test } from "vitest";
import { z } from "zod";
import { parse } from "../../server/parse.ts";

const Body = z.strictObject({ input: z.record(z.string(), z.number()).optional() });

test.each([
  ["the whole value", 7, "", "Invalid input: expected object, received number"],
  ["a field", { input: 7 }, "/input", "Invalid input: expected record, received number"],
  ["a key with / and ~", { input: { "a/b~": "x" } }, "/input/a~1b~0", "expected number"],
])("parse() names %s by its JSON pointer", (_what, value, pointer, message) => {
  const error = failure(() => parse(Body, value));
  expect(error.fields.errors).toEqual([{ pointer, message: expect.stringContaining(message) }]);
  expect(error.message).toContain(`Cannot read the input: Invalid input: `);
  expect(error.message).toContain("; correct it and send the request again");
  expect(error.message.includes(` at "${pointer}"`)).toBe(pointer !== "");
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
