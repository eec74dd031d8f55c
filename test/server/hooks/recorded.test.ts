import { describe, expect, test } from "vitest";
import { openHooks } from "./stage.ts";
import { playRecorded, RECORDED } from "./recorded.ts";

describe.each([["ask", "held"], ["deny", "blocked"]] as const)("by default: %s", (effect, word) => {
  test.each(Object.keys(RECORDED))("%s: each line of its real sessions", async (host) => {
    const policies = { defaultEffect: effect, allowedCommands: ["echo"] };
    const { gate, post, actions } = await openHooks(host, { policies });
    const ask = async (line: unknown) => {
      const { status, output } = await post(line);
      expect(status).toBe(200);
      return output;
    };
    const said = await playRecorded(host, { root: gate.root, ask, actions });
    expect(said).toEqual(RECORDED[host]!.map((one) => one.replace(/default$/, word)));
  });
});
