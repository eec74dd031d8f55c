import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Policies } from "../../server/policy/schema.ts";
import type { Deed } from "./every_action/deed.ts";
import { Scene } from "./every_action/deed.ts";
import { listControls } from "./every_action/controls.ts";
import { DETAILS } from "./every_action/details.ts";
import { ELSEWHERE, NOT_TRIED } from "./every_action/elsewhere.ts";
import { keyboardOf, mouseOf } from "./every_action/hand.ts";
import { PROOF } from "./every_action/proof.ts";
import { QUEUE } from "./every_action/queue.ts";
import { RECORDS } from "./every_action/records.ts";
import { ROOMS } from "./every_action/rooms.ts";
import { POLICIES, Stage } from "./stage.ts";

const HANDS = [["keyboard", keyboardOf], ["mouse", mouseOf]] as const;
/** More rules than Settings show at once. */
const MANY_RULES: Policies = {
  ...POLICIES,
  blockedPaths: Array.from({ length: 20 }, (_, at) => `private-${at}/**`),
};
const DEEDS: Deed[] = [...QUEUE, ...DETAILS, ...RECORDS, ...ROOMS];

test("each control and key of the dashboard is in the table, or named as tried elsewhere or nowhere", () => {
  const used = [...DEEDS, ...PROOF].flatMap(({ uses }) => uses);
  const elsewhere = [...Object.values(ELSEWHERE).flat(), ...NOT_TRIED];
  const controls = listControls();
  const known = new Set([...used, ...elsewhere]);
  const files = Object.keys(ELSEWHERE).map((file) => join(import.meta.dirname!, file));
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
  expect(controls.filter((one) => !known.has(one)), "not in the table").toEqual([]);
  expect([...known].filter((one) => !controls.includes(one)), "gone").toEqual([]);
  const twice = elsewhere.filter((one) => used.includes(one));
  expect(twice, "in the table and elsewhere").toEqual([]);
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

describe.each(HANDS)("with the executable and a passphrase, by %s alone", (_, handOf) => {
  beforeAll(async () => {
    await stage.close();
    stage = await Stage.open(["my-app"], { subject: "executable", proof: "none" });
    const page = await stage.page();
    scene = new Scene(stage, page, handOf(page));
  });

  test.each(PROOF)("$page: $action", ({ run }) => run(scene));
});
