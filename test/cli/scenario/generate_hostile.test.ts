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

function refTo(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
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

  test.each<[string, Record<string, unknown>]>([
    ["name each other in a circle", {
      S0: { required: ["a", "b"], properties: { a: refTo("S0"), b: refTo("S1") } },
      S1: { allOf: [refTo("S0"), refTo("S1")], oneOf: [refTo("S1")] },
    }],
    [
      "double at each level",
      Object.fromEntries(Array.from({ length: 40 }, (_, n) => {
        const [x, y] = [refTo(`S${n + 1}`), refTo(`S${n + 1}`)];
        return [`S${n}`, { allOf: [x, y], required: ["x", "y"], properties: { x, y } }];
      })),
    ],
  ])("schemas that %s are read to a bounded depth", (_, schemas) => {
    const content = { "application/json": { schema: refTo("S0") } };
    const post = { requestBody: { content }, responses: { 200: { description: "" } } };
    const text = JSON.stringify({
      openapi: "3.1.0",
      paths: { "/a": { post } },
      components: { schemas },
    });
    // A walk without a bound would exceed the test time-out.
    const scenarios = generateScenarios(operationsOf(text, "x"), { depth: "aggressive" });
    expect(scenarios.length).toBeGreaterThan(5);
    expect(JSON.stringify(scenarios).length).toBeLessThan(10_000_000);
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
