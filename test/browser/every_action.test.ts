import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { policyTemplate } from "../../server/policy/templates.ts";
import type { Policies } from "../../server/policy/schema.ts";
import { ENGINE } from "../server/sandbox/stage.ts";
import { AGENTS } from "./every_action/agents.ts";
import type { Deed } from "./every_action/deed.ts";
import { Scene } from "./every_action/deed.ts";
import { listControls } from "./every_action/controls.ts";
import { CARDS } from "./every_action/cards.ts";
import { DETAILS } from "./every_action/details.ts";
import { EMPTY, LOST } from "./every_action/homes.ts";
import { LONG_LISTS } from "./every_action/long_lists.ts";
import { REMEDIATION } from "./every_action/remediation.ts";
import { SETTINGS } from "./every_action/settings.ts";
import { keyboardOf, mouseOf } from "./every_action/hand.ts";
import { PASSKEY, TEAM_KEYS } from "./every_action/keys.ts";
import { PROOF } from "./every_action/proof.ts";
import { QUEUE } from "./every_action/queue.ts";
import { RECORDS } from "./every_action/records.ts";
import { ROOMS } from "./every_action/rooms.ts";
import { SANDBOX } from "./every_action/sandbox.ts";
import { POLICIES, Stage } from "./stage.ts";

const HANDS = [["keyboard", keyboardOf], ["mouse", mouseOf]] as const;
/** More rules than Settings show at once. */
const MANY_RULES: Policies = {
  ...POLICIES,
  maxDenialsPerSession: 100,
  blockedPaths: Array.from({ length: 20 }, (_, at) => `private-${at}/**`),
};
const DEEDS: Deed[] = [
  ...QUEUE,
  ...DETAILS,
  ...CARDS,
  ...RECORDS,
  ...ROOMS,
  ...LONG_LISTS,
  ...AGENTS,
  ...REMEDIATION,
  ...SETTINGS,
];
const OWN_STAGE: Deed[] = [...SANDBOX, ...PROOF, ...TEAM_KEYS, ...PASSKEY, ...EMPTY, ...LOST];

test("each control and key of the dashboard is in the table", () => {
  const used = new Set([...DEEDS, ...OWN_STAGE].flatMap(({ uses }) => uses));
  const controls = listControls();
  expect(controls.filter((one) => !used.has(one)), "not in the table").toEqual([]);
  expect([...used].filter((one) => !controls.includes(one)), "gone").toEqual([]);
});

let stage: Stage;
let scene: Scene;
afterEach(async () => expect(await stage?.rejectHeld() ?? []).toEqual([]));
afterAll(() => stage?.close());

describe.each(HANDS)("with the executable, by %s alone", (_, handOf) => {
  beforeAll(async () => {
    await stage?.close();
    stage = await Stage.open(["my-app"], { subject: "executable" });
    await stage.addProject("docs-site", MANY_RULES);
    const page = await stage.page();
    scene = new Scene(stage, page, handOf(page));
  });

  test.each(DEEDS)("$page: $action", ({ run }) => run(scene));
});

describe.runIf(ENGINE !== null).each(HANDS)("with the sandbox, by %s alone", (_, handOf) => {
  beforeAll(async () => {
    await stage.addProject("walled", { ...POLICIES, sandbox: { mode: "auto" } });
    const balanced = policyTemplate("balanced");
    const sandbox = { ...balanced.sandbox, mode: "review" } as const;
    await stage.addProject("reviewed", { ...balanced, sandbox });
    const page = await stage.page();
    scene = new Scene(stage, page, handOf(page));
  });

  test.each(SANDBOX)("$page: $action", ({ run }) => run(scene));
});

const OWN: [state: string, deeds: Deed[], projects: string[], proof: "none" | "token"][] = [
  ["a passphrase", PROOF, ["my-app"], "none"],
  ["the keys of a team", TEAM_KEYS, ["my-app"], "none"],
  ["a passkey", PASSKEY, ["my-app"], "none"],
  ["no project", EMPTY, [], "token"],
  ["older files of gate", LOST, ["my-app"], "token"],
];
describe.each(OWN)("with the executable and %s", (_, deeds, projects, proof) => {
  describe.each(HANDS)("by %s alone", (_, handOf) => {
    beforeAll(async () => {
      await stage?.close();
      stage = await Stage.open(projects, { subject: "executable", proof });
      const page = await stage.page();
      scene = new Scene(stage, page, handOf(page));
    });

    test.each(deeds)("$page: $action", ({ run }) => run(scene));
  });
});
