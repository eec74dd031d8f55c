import { describe, expect, test } from "vitest";
import { policyTemplate } from "../../server/policy/templates.ts";
import { ENGINE } from "../server/sandbox/stage.ts";
import { listControls } from "./every_action/controls.ts";
import { HANDS, runDeeds } from "./every_action/run_deeds.ts";
import { SANDBOX } from "./every_action/sandbox.ts";
import { ALL_DEEDS, STATES } from "./every_action/tables.ts";
import { POLICIES, Stage } from "./stage.ts";

const EACH_HAND = Object.keys(HANDS) as (keyof typeof HANDS)[];

test("each control and key of the dashboard is in the table", () => {
  const used = new Set(ALL_DEEDS.flatMap(({ uses }) => uses));
  const controls = listControls();
  expect(controls.filter((one) => !used.has(one)), "not in the table").toEqual([]);
  expect([...used].filter((one) => !controls.includes(one)), "gone").toEqual([]);
});

describe.runIf(ENGINE !== null).each(EACH_HAND)("with the sandbox, by %s alone", (hand) => {
  runDeeds(hand, SANDBOX, openSandboxed);
});

describe.each(STATES)("with the executable and $state", ({ deeds, projects, proof }) => {
  describe.each(EACH_HAND)("by %s alone", (hand) => {
    runDeeds(hand, deeds, () => Stage.open(projects, { subject: "executable", proof }));
  });
});

async function openSandboxed(): Promise<Stage> {
  const stage = await Stage.open(["my-app"], { subject: "executable" });
  await stage.addProject("walled", { ...POLICIES, sandbox: { mode: "auto" } });
  const balanced = policyTemplate("balanced");
  const sandbox = { ...balanced.sandbox, mode: "review" } as const;
  await stage.addProject("reviewed", { ...balanced, sandbox });
  return stage;
}
