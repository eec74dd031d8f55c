import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Policies } from "../../../server/policy/schema.ts";
import { POLICIES, Stage } from "../stage.ts";
import { type Deed, Scene } from "./deed.ts";
import { keyboardOf, mouseOf } from "./hand.ts";

/** The ways to act, by their names. */
export const HANDS = { keyboard: keyboardOf, mouse: mouseOf };

/** More rules than Settings show at once. */
const MANY_RULES: Policies = {
  ...POLICIES,
  maxDenialsPerSession: 100,
  blockedPaths: Array.from({ length: 20 }, (_, at) => `private-${at}/**`),
};

/** Declares a test for each deed, done with that hand on one stage. */
export function runDeeds(
  hand: keyof typeof HANDS,
  deeds: Deed[],
  open: () => Promise<Stage> = openTwoProjects,
): void {
  let stage: Stage;
  let scene: Scene;
  beforeAll(async () => {
    stage = await open();
    const page = await stage.page();
    scene = new Scene(stage, page, HANDS[hand](page));
  });
  afterEach(async () => expect(await stage.rejectHeld()).toEqual([]));
  afterAll(() => stage?.close());

  test.each(deeds)("$page: $action", ({ run }) => run(scene));
}

async function openTwoProjects(): Promise<Stage> {
  const stage = await Stage.open(["my-app"], { subject: "executable" });
  await stage.addProject("docs-site", MANY_RULES);
  return stage;
}
