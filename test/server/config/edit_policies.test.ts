import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

const PRESENT = { blockedPaths: ["a"], "x-mine": 1 };

test.each([
  [{ blockedPats: ["b"] }, 'no key "blockedPats"; did you mean "blockedPaths"?'],
  [{ askPaths: ["c"], zzz: 1 }, 'no key "zzz"; it has defaultEffect'],
])("%j with an unknown key is refused and not written", async (wanted, why) => {
  const gate = await createTestGate({ policies: PRESENT });
  const file = join(gate.root, "gate.config.json");
  const before = readFileSync(file, "utf8");
  const answer = await gate.request("PUT", "/api/config/policies", wanted);
  expect(answer.status).toBe(400);
  expect((await answer.json()).detail).toContain(why);
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("an unknown key that the file already has is accepted", async () => {
  const gate = await createTestGate({ policies: PRESENT });
  const wanted = { ...PRESENT, askPaths: ["c"] };
  expect((await gate.request("PUT", "/api/config/policies", wanted)).status).toBe(200);
  const text = readFileSync(join(gate.root, "gate.config.json"), "utf8");
  expect(JSON.parse(text).policies).toEqual(wanted);
});
