import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TeamStage } from "../proof/team_stage.ts";

const ROUNDS = 50;
const DECISIONS = 30;

test(`of ${DECISIONS} signed decisions of three members at once exactly two count`, {
  timeout: 300_000,
}, async () => {
  const members = { ann: "reviewer", ben: "reviewer", cy: "reviewer" } as const;
  const stage = await TeamStage.open(members);
  const ids = Object.keys(members);
  await stage.enrol(...ids);
  await stage.route({ approvers: { members: ids } });
  for (let round = 1; round <= ROUNDS; round++) {
    const path = `held/${round}.txt`;
    const id = await stage.hold(path);
    const voters = Array.from({ length: DECISIONS }, (_, i) => ids[(i + round) % ids.length]!);
    const answers = await Promise.all(voters.map((who) => stage.approve(who, id)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 202, 409].includes(status))).toEqual([]);
    expect(statuses.filter((status) => status === 200).length).toBe(1);
    const events = (await stage.gate.audit()).filter(({ action_id }) => action_id === id);
    const of = (type: string) => events.filter((event) => event.type === type);
    const people = of("vote.cast").map(({ actor }) => actor.id);
    expect([people.length, new Set(people).size]).toEqual([2, 2]);
    for (const type of ["action.approved", "action.started", "action.finished"]) {
      expect(of(type).length).toBe(1);
    }
    expect(readFileSync(join(stage.gate.root, path), "utf8")).toBe("x");
    // A second vote of the same member changes nothing.
    for (const who of people) expect((await stage.approve(who, id)).status).toBe(409);
  }
  expect(await stage.verify()).toMatchObject({ ok: true, problem: null });
});
