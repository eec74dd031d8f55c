import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { playRecorded, RECORDED } from "../server/hooks/recorded.ts";
import { askHook } from "./hook.ts";
import { World } from "./world.ts";

describe("gate hook on recorded sessions, run by the executable", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable", { isBare: true });
    await world.init({ defaultEffect: "deny", allowedCommands: ["echo"] });
  });
  afterAll(() => world.close());

  test.each(Object.keys(RECORDED))(
    "%s: each line of the recording gets the expected decision",
    async (host) => {
      const decisions = await playRecorded(host, {
        root: world.project,
        ask: async (line) => (await askHook(world, host, line)).output,
        actions: async () => (await world.api("GET", "/api/actions")).body.items,
      });
      expect(decisions).toEqual(RECORDED[host]!.map((one) => one.replace(/default$/, "blocked")));
    },
  );
});
