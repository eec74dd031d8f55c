import fc from "fast-check";
import { expect, test } from "vitest";
import { findText, splitText } from "../../../server/actions/find_text.ts";

const few = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });

test("findText() and splitText() answer like indexOf() and split(), whatever the lengths", () => {
  fc.assert(fc.property(few, few, fc.integer({ min: 1, max: 90 }), fc.nat(400), (a, b, n, from) => {
    const text = (a + b).repeat(n) + a + b.repeat(n);
    const wanted = a.repeat(n) + b;
    expect(findText(text, wanted, from)).toBe(text.indexOf(wanted, from));
    if (wanted !== "") expect(splitText(text, wanted)).toEqual(text.split(wanted));
  }));
});

test.each(["", "x", "y".repeat(500)])("splitText() finds every one of several (%#)", (between) => {
  const wanted = "ab".repeat(150) + "c";
  const text = [between, between, between].join(wanted);
  expect(splitText(text, wanted)).toEqual([between, between, between]);
});
