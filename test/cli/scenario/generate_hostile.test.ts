import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../../cli/scenario/errors.ts";
import { operationsOf } from "../../../cli/scenario/generate/documents.ts";
import { generateScenarios } from "../../../cli/scenario/generate/generate.ts";
import { readHelp } from "../../../cli/scenario/generate/help/read_help.ts";
import { ScenarioDocument } from "../../../cli/scenario/schema.ts";
import { DOCUMENT } from "./seeded/document.ts";

const JUNK: unknown[] = [
  ...[null, true, 0, -1, 1e308, "", "x", "{id}", "\u0000", "\ud800", [], {}, [[]], [null], {
    a: null,
  }],
  { $ref: "#/paths" },
  { type: ["string", "null"], enum: [] },
  { allOf: [true, { $ref: "#/nowhere" }], properties: { a: true, b: null } },
  "x".repeat(10_000),
];

/** A copy of the document in which the part at the end of a walk is replaced. */
function broken(document: unknown, turns: number[], junk: unknown): unknown {
  const copy = structuredClone(document);
  let node = copy as Record<string, unknown>;
  for (const turn of turns) {
    const keys = Object.keys(node);
    const key = keys[turn % Math.max(1, keys.length)];
    if (key === undefined) return copy;
    const child = node[key];
    if (typeof child !== "object" || child === null || turn === turns.at(-1)) {
      node[key] = junk;
      return copy;
    }
    node = child as Record<string, unknown>;
  }
  return copy;
}

describe("with hostile documents", () => {
  test("the generator returns valid scenarios or throws a ToolError", () => {
    const turns = fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 9 });
    const property = fc.property(turns, turns, fc.constantFrom(...JUNK), (one, other, junk) => {
      const text = JSON.stringify(broken(broken(DOCUMENT, one, junk), other, junk));
      try {
        const scenarios = generateScenarios(operationsOf(text, "x"), { depth: "aggressive" });
        const read = ScenarioDocument.safeParse(scenarios);
        expect(read.error?.issues ?? []).toEqual([]);
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
      }
    });
    fc.assert(property, { numRuns: 400 });
  });

  test("readHelp() reads any text", () => {
    const piece = fc.constantFrom(
      "  -",
      "--a",
      " <",
      "[",
      "]",
      ">",
      "{",
      ",",
      " | ",
      "usage:",
      "\n",
      "commands:\n",
      "  a  b",
      "=",
      " ",
      "X",
    );
    const text = fc.array(piece, { maxLength: 400 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (help) => {
        expect(readHelp(help).options.length).toBeLessThan(2_001);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["  " + "-a, ".repeat(200)],
    ["  --a" + " <b>".repeat(100)],
    ["  --a " + "X|".repeat(190)],
    ["usage: " + "[".repeat(20_000)],
    ["usage: " + "[a ".repeat(5_000) + "]".repeat(5_000)],
    ["  a" + ",b".repeat(200) + "!"],
    ["Commands:\n" + "  a b c\n".repeat(50_000)],
  ])("readHelp() is fast on the hostile line %#", (help) => {
    // A backtracking pattern would exceed the test time-out.
    expect(readHelp(help).options.length).toBeLessThan(2_001);
  });
});
