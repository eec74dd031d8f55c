import { expect, test } from "vitest";
import { findGrant, takeUse } from "../../../server/grants/store.ts";
import { HOUR, openStage } from "./stage.ts";

const AT_ONCE = 40;

test.each([
  ["equal commands", undefined, () => "npm test"],
  ["commands that match one pattern", "npm run *", (n: number) => `npm run t${n}`],
])(
  "of 40 concurrent submissions a grant with 7 uses allows 7: %s",
  async (_name, pattern, commandOf) => {
    const { gate, run, remember, list } = await openStage();
    const grant = await remember(await run(commandOf(0)), { ...HOUR, max_uses: 7, pattern });
    const sent = Array.from({ length: AT_ONCE }, (_, n) => run(commandOf(n)));
    const answers = await Promise.all(sent);
    const ids = new Set(
      answers.filter(({ decision }) => decision.grant_id === grant.id).map(({ id }) => id),
    );
    expect(ids.size).toBe(7);
    expect(await list()).toMatchObject([{ uses: 7, state: "used_up" }]);
    const used = (await gate.audit()).filter(({ type }) => type === "grant.used");
    expect(used.map(({ data }) => data.use)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(used.map(({ action_id }) => action_id))).toEqual(ids);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
  },
);

test("of 40 concurrent writes a grant with 5 uses executes 5", async () => {
  const { write, remember, list } = await openStage();
  await remember(await write("docs/first.md"), { ...HOUR, max_uses: 5, pattern: "docs/**" });
  const sent = Array.from({ length: AT_ONCE }, (_, n) => write(`docs/${n}.md`));
  const done = (await Promise.all(sent)).filter(({ execution }) => execution === "succeeded");
  expect(done).toHaveLength(5);
  expect(await list()).toMatchObject([{ uses: 5 }]);
});

test("two grants allow the sum of their uses", async () => {
  const { run, remember, list } = await openStage();
  await remember(await run("npm run a"), { ...HOUR, max_uses: 3, pattern: "npm run *" });
  const second = await run("npx tsc");
  await remember(second, { ...HOUR, max_uses: 2 });
  const sent = [
    ...Array.from({ length: 10 }, (_, n) => run(`npm run x${n}`)),
    ...Array.from({ length: 10 }, () => run("npx tsc")),
  ];
  const allowed = (await Promise.all(sent)).filter(({ decision }) => decision.grant_id);
  expect(new Set(allowed.map(({ id }) => id)).size).toBe(5);
  expect((await list()).map(({ uses }) => uses)).toEqual([2, 3]);
});

test("no use is counted after a concurrent revocation", async () => {
  for (let round = 0; round < 10; round++) {
    const { gate, call, write, remember, list } = await openStage();
    const grant = await remember(await write("docs/0"), {
      ...HOUR,
      max_uses: 100,
      pattern: "docs/**",
    });
    const sent: Promise<unknown>[] = Array.from({ length: 20 }, (_, n) => write(`docs/a${n}`));
    sent.splice(round * 2, 0, call("DELETE", `/api/grants/${grant.id}`));
    await Promise.all(sent);
    const events = (await gate.audit()).map(({ type }) => type);
    expect(events.lastIndexOf("grant.used")).toBeLessThan(
      Math.max(events.indexOf("grant.revoked"), 0),
    );
    const { uses, state } = (await list())[0]!;
    expect(state).toBe("revoked");
    expect(events.filter((type) => type === "grant.used")).toHaveLength(uses);
    await gate.close();
  }
});

test("five concurrent commits with the same count use a grant once", async () => {
  const { gate, run, remember, list } = await openStage();
  const { id } = await remember(await run("npm test"), { ...HOUR, max_uses: 9 });
  const { ledger } = gate.project;
  const seen = (await findGrant(ledger, id, new Date(gate.clock.now).toISOString()))!;
  const takes = Array.from({ length: 5 }, (_, n) => {
    const now = new Date(gate.clock.now).toISOString();
    const { take, only } = takeUse(seen, { use_id: `${n}`, now });
    const check = { sql: `SELECT ${only.sql} AS mine`, args: only.args };
    return ledger.commit({ statements: [take, check], events: [] });
  });
  const mine = (await Promise.all(takes)).map(({ rows }) => Number(rows[1]![0]!.mine));
  expect(mine).toEqual([1, 0, 0, 0, 0]);
  expect(await list()).toMatchObject([{ uses: 1 }]);
});

test("of 20 concurrent revocations one succeeds and is recorded", async () => {
  const { gate, call, run, remember } = await openStage();
  const { id } = await remember(await run("npm test"));
  const sent = Array.from({ length: 20 }, () => call("DELETE", `/api/grants/${id}`));
  const statuses = (await Promise.all(sent)).map(({ status }) => status).sort();
  expect(statuses).toEqual([200, ...Array(19).fill(409)]);
  const revoked = (await gate.audit()).filter(({ type }) => type === "grant.revoked");
  expect(revoked).toHaveLength(1);
});

test("of 20 concurrent remembered approvals one creates a grant", async () => {
  const { gate, approve, run, list } = await openStage();
  const { id } = await run("npm test");
  const sent = Array.from({ length: 20 }, (_, n) => approve(id, { ...HOUR, max_uses: n + 1 }));
  const statuses = (await Promise.all(sent)).map(({ status }) => status).sort();
  expect(statuses).toEqual([200, ...Array(19).fill(409)]);
  expect(await list()).toHaveLength(1);
  const added = (await gate.audit()).filter(({ type }) => type === "grant.added");
  expect(added).toHaveLength(1);
});
