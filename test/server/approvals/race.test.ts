import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStage, TWO_OF_THREE } from "./stage.ts";

const ROUNDS = 50;
const DECISIONS = 30;

test(`of ${DECISIONS} decisions at once exactly two count, and one execution follows`, {
  timeout: 120_000,
}, async () => {
  const { gate, hold, approve, story } = await openStage(TWO_OF_THREE);
  for (let round = 1; round <= ROUNDS; round++) {
    const { id } = await hold();
    const voters = Array.from({ length: DECISIONS }, (_, i) => ["ann", "ben", "cy"][i % 3]!);
    const shift = round % 3;
    const answers = await Promise.all(
      voters.map((_, i) => approve(voters[(i + shift) % DECISIONS]!, id)),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 202, 409].includes(status))).toEqual([]);
    expect(statuses.filter((status) => status === 200).length).toBe(1);
    const told = await story(id);
    const votes = told.filter((one) => one.startsWith("vote.cast"));
    expect([votes.length, new Set(votes).size]).toEqual([2, 2]);
    for (const type of ["action.approved", "action.started", "action.finished"]) {
      expect(told.filter((one) => one.startsWith(type)).length).toBe(1);
    }
    expect(readFileSync(join(gate.root, `held/${round}.txt`), "utf8"))
      .toBe(`content held/${round}.txt\n`);
  }
  const verified = await (await gate.request("GET", "/api/audit/verify")).json();
  expect(verified).toMatchObject({ ok: true });
});
