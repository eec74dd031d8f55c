import { describe, expect, test } from "vitest";
import { compareConfigs } from "../../../server/config/compare.ts";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import { combineLayers } from "../../../server/policy/layers.ts";
import { DEFAULT_WEIGHTS } from "../../../server/policy/risk_weights.ts";
import { Policies, type RiskConfig, RiskFactor } from "../../../server/policy/schema.ts";

const LEGAL = { name: "legal", weight: 60, paths: ["legal/**"] };

describe("the weights of risk", () => {
  test("every factor has a weight", () => {
    expect(Object.keys(DEFAULT_WEIGHTS).toSorted()).toEqual(RiskFactor.options.toSorted());
  });

  test.each<[string, RiskConfig | undefined, RiskConfig | undefined, boolean]>([
    ["a higher weight", undefined, { weights: { cloud: 60 } }, true],
    ["a lower weight", undefined, { weights: { cloud: 5 } }, false],
    ["a lower weight than before", { weights: { cloud: 70 } }, { weights: { cloud: 60 } }, false],
    ["no weight where one was raised", { weights: { cloud: 70 } }, undefined, false],
    ["no weight where one was lowered", { weights: { cloud: 1 } }, undefined, true],
    ["a new class", undefined, { classes: [LEGAL] }, true],
    ["a class less", { classes: [LEGAL] }, {}, false],
    ["a lighter class", { classes: [LEGAL] }, { classes: [{ ...LEGAL, weight: 10 }] }, false],
    ["a narrower class", { classes: [LEGAL] }, { classes: [{ ...LEGAL, paths: ["l"] }] }, false],
    ["working hours", undefined, { workingHours: { from: 8, to: 18 } }, true],
    [
      "other hours",
      { workingHours: { from: 8, to: 18 } },
      { workingHours: { from: 0, to: 24 } },
      false,
    ],
  ])("%s holds at once only if it is stricter", (_name, before, after, holds) => {
    const [change] = compareConfigs({ policies: { risk: before } }, { policies: { risk: after } });
    expect(change).toMatchObject({ key: "risk", in_force: holds });
  });

  test("of two layers the higher weight holds, and the classes of both", () => {
    const compile = (risk: RiskConfig, global: RiskConfig = {}) =>
      compilePolicy({ global: { risk: global }, project: { risk }, override_global: false });
    const merged = compile({ weights: { cloud: 40 }, classes: [LEGAL] }, {
      weights: { cloud: 50 },
    });
    expect(merged.risk.weights.cloud).toBe(50);
    expect(merged.risk.classes).toEqual([LEGAL]);
    const layered = combineLayers([
      { compiled: compile({ weights: { cloud: 1 } }) },
      { compiled: merged },
    ]);
    expect(layered.risk.weights.cloud).toBe(50);
    expect(layered.risk.classes).toEqual([LEGAL]);
  });

  test.each([
    ["an unknown factor", { weights: { clowd: 5 } }],
    ["a weight over 100", { weights: { cloud: 101 } }],
    ["a class without a name", { classes: [{ weight: 5 }] }],
    ["an hour that no clock has", { workingHours: { from: 8, to: 25 } }],
  ])("%s is no config", (_name, risk) => {
    expect(Policies.safeParse({ risk }).success).toBe(false);
  });
});
