import { expect, test } from "vitest";
import { z } from "zod";
import { sayWrong } from "../../server/issue.ts";

const Text = z.union([z.string(), z.strictObject({ pattern: z.string() })]);
const Value = z.strictObject({
  name: z.string().min(2).max(3).optional(),
  names: z.array(z.string()).max(1).optional(),
  days: z.number().int().min(1).optional(),
  ratio: z.number().gt(0).optional(),
  kind: z.enum(["a", "b"]).optional(),
  version: z.literal("2").optional(),
  rules: z.array(Text).optional(),
  id: z.uuid().optional(),
  own: z.string().refine((text) => text === "x", { error: "takes an x" }).optional(),
  inner: z.object({ on: z.boolean() }).optional(),
});

test.each([
  [7, "must be an object, not a number"],
  [{ name: 5 }, "name: must be a text, not a number"],
  [{ name: "a" }, "name: must have at least 2 characters"],
  [{ name: "abcd" }, "name: must have at most 3 characters"],
  [{ names: ["a", "b"] }, "names: must have at most 1 entry"],
  [{ days: 0 }, "days: must be at least 1"],
  [{ days: 1.5 }, "days: must be a whole number"],
  [{ ratio: 0 }, "ratio: must be over 0"],
  [{ kind: "c" }, 'kind: must be one of "a", "b"'],
  [{ version: 2 }, 'version: must be "2"'],
  [{ rules: [3] }, "rules.0: must be a text or an object"],
  [{ rules: [{ pattern: 3 }] }, "rules.0.pattern: must be a text, not a number"],
  [{ id: "x" }, "id: is not a valid UUID"],
  [{ own: "y" }, "own: takes an x"],
  [{ inner: {} }, "inner.on: is missing: it must be true or false"],
  [{ nmae: 1 }, 'has the unknown key "nmae"'],
])("the fault of %j in words", (value, words) => {
  expect(sayWrong(Value.safeParse(value).error!.issues[0]!)).toBe(words);
});
