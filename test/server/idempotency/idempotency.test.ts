import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Registry } from "../../../server/projects/registry.ts";
import { Idempotency } from "../../../server/idempotency/idempotency.ts";

let home: string;
let registry: Registry;
let time: number;
let runs: number;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "gate-"));
  time = Date.parse("2026-01-01T00:00:00Z");
  runs = 0;
  registry = await Registry.open({ home, now: () => time, id: () => "x", log: () => {} });
});

afterEach(async () => {
  await registry.close();
  rmSync(home, { recursive: true });
});

const REQUEST = { scope: "agent", key: "k1", method: "POST", path: "/api/actions", json: { a: 1 } };

function create() {
  return new Idempotency(registry.database, () => time);
}

function produce(status = 201) {
  return () => Promise.resolve(Response.json({ run: ++runs }, { status }));
}

test("the same request again gets the same answer, over a restart too", async () => {
  const first = await create().answer(REQUEST, produce());
  expect(first).toEqual({ status: 201, body: '{"run":1}', replayed: false });
  expect(await create().answer(REQUEST, produce())).toEqual({ ...first, replayed: true });
  expect(runs).toBe(1);
});

test.each([
  ["body", { json: { a: 2 } }],
  ["route", { path: "/api/sessions" }],
])("the same key with another %s is a conflict", async (_name, change) => {
  const idempotency = create();
  await idempotency.answer(REQUEST, produce());
  const other = idempotency.answer({ ...REQUEST, ...change }, produce());
  await expect(other).rejects.toMatchObject({ code: "conflict" });
  expect(runs).toBe(1);
});

test("two callers may use the same key", async () => {
  const idempotency = create();
  await idempotency.answer(REQUEST, produce());
  expect((await idempotency.answer({ ...REQUEST, scope: "reviewer" }, produce())).replayed)
    .toBe(false);
});

test("of twenty at once one runs and all get its answer", async () => {
  const idempotency = create();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => idempotency.answer(REQUEST, produce())),
  );
  expect(runs).toBe(1);
  expect(new Set(answers.map((answer) => answer.body))).toEqual(new Set(['{"run":1}']));
  expect(answers.filter((answer) => !answer.replayed)).toHaveLength(1);
});

test("an answer is kept for a day", async () => {
  const idempotency = create();
  await idempotency.answer(REQUEST, produce());
  time += 24 * 3_600_000 - 1;
  expect((await idempotency.answer(REQUEST, produce())).replayed).toBe(true);
  time += 1;
  expect((await idempotency.answer(REQUEST, produce())).replayed).toBe(false);
});

test.each([400, 415, 500, 503])("a refusal with %i may be sent again", async (status) => {
  const idempotency = create();
  await idempotency.answer(REQUEST, produce(status));
  expect((await idempotency.answer(REQUEST, produce())).replayed).toBe(false);
});

test("a request that a crash cut short is not run again by itself", async () => {
  const died = new Promise<Response>(() => {});
  await new Promise<void>((resolve) => {
    create().answer(REQUEST, () => {
      resolve();
      return died;
    });
  });
  await expect(create().answer(REQUEST, produce())).rejects.toThrow(/its answer was not kept/);
  expect(runs).toBe(0);
});

test.each(["", "a b", "x".repeat(256), "ü"])("the key %j is refused", async (key) => {
  await expect(create().answer({ ...REQUEST, key }, produce())).rejects.toMatchObject({
    code: "invalid",
  });
});

test("keys do not pile up without bound", async () => {
  const idempotency = create();
  await registry.database.batch(
    Array.from({ length: 10_000 }, (_, i) => ({
      sql: "INSERT INTO idempotency VALUES (?, '', 200, '', ?)",
      args: [`old:${i}`, new Date(time + 1000 + i).toISOString()],
    })),
  );
  await idempotency.answer(REQUEST, produce());
  const rows = await registry.database.all("SELECT count(*) AS count FROM idempotency");
  expect(rows[0]!.count).toBe(10_000);
});

test("answers do not pile up without bound, and a forgotten one is not run again", async () => {
  const idempotency = create();
  const big = () => Promise.resolve(Response.json({ run: ++runs, text: "x".repeat(1_000_000) }));
  for (let i = 0; i < 90; i++) {
    time += 1;
    await idempotency.answer({ ...REQUEST, key: `k${i}` }, big);
  }
  const [row] = await registry.database.all(
    "SELECT sum(length(answer)) AS length, count(*) AS count FROM idempotency",
  );
  expect(Number(row!.length)).toBeLessThan(80_000_000);
  expect(row!.count).toBe(90);
  await expect(idempotency.answer({ ...REQUEST, key: "k0" }, big)).rejects
    .toThrow(/its answer was not kept/);
  expect((await idempotency.answer({ ...REQUEST, key: "k89" }, big)).replayed).toBe(true);
  expect(runs).toBe(90);
});
