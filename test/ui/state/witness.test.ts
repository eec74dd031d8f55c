import { expect, test } from "vitest";
import { continues } from "../../../ui/state/witness.ts";

const seen = { seq: 5, hash: "five" };
const at = (seq: number, hash: string) => ({ seq, hash });

test.each([
  ["the same head", 5, at(5, "five"), true],
  ["a longer ledger", 9, at(5, "five"), true],
  ["a shorter ledger", 4, null, false],
  ["a shorter ledger that answers for the event", 4, at(5, "five"), false],
  ["another event in its place", 9, at(5, "other"), false],
  ["no event in its place", 9, null, false],
  ["an answer about another event", 9, at(6, "five"), false],
])("%s", (_name, seq, event, expected) => {
  expect(continues(seen, { project_id: "p", seq, hash: "head", at: event })).toBe(expected);
});
