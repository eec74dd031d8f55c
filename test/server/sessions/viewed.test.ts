import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Registry } from "../../../server/projects/registry.ts";
import { ViewedFiles } from "../../../server/sessions/viewed.ts";
import { isAllowed } from "../../../server/auth/scopes.ts";
import { createTestGate, testCaller } from "../../helpers.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);
const MARK = { path: "src/a.ts", before_sha256: null, after_sha256: A };

test("a mark is kept with the content that was viewed, and taken away", async () => {
  const gate = await createTestGate();
  const { id } = await gate.project.sessions.open({}, testCaller("agent"));
  const path = `/api/sessions/${id}/viewed`;
  const list = async () => (await (await gate.request("GET", path)).json()).items;
  const set = async (body: unknown) => (await gate.request("PUT", path, body)).status;
  expect(await list()).toEqual([]);
  expect(await set({ ...MARK, is_viewed: true })).toBe(200);
  expect(await list()).toEqual([MARK]);
  const changed = { ...MARK, before_sha256: A, after_sha256: B };
  expect(await set({ ...changed, is_viewed: true })).toBe(200);
  expect(await list()).toEqual([changed]);
  expect(await set({ ...MARK, is_viewed: false })).toBe(200);
  expect(await list()).toEqual([]);
  expect(await set({ ...MARK, after_sha256: "x", is_viewed: true })).toBe(400);
  const nobody = "/api/sessions/00000000-0000-7000-8000-000000000000/viewed";
  expect((await gate.request("GET", nobody)).status).toBe(404);
  for (const method of ["GET", "PUT"]) expect(isAllowed("agent", method, path)).toBe(false);
  expect(isAllowed("viewer", "PUT", path)).toBe(false);
});

test("each person has marks of their own, the newest ones when there are too many", async () => {
  const home = mkdtempSync(join(tmpdir(), "gate-viewed-"));
  let now = 1_700_000_000_000;
  const environment = { home, now: () => now, id: () => "x", log: () => {} };
  const registry = await Registry.open(environment);
  onTestFinished(async () => {
    await registry.close();
    rmSync(home, { recursive: true, force: true });
  });
  const viewed = new ViewedFiles(registry.database, () => now, 3);
  const ann = { ...testCaller("reviewer"), member_id: "ann" };
  const ben = { ...testCaller("reviewer"), member_id: "ben" };
  await viewed.set("one", { ...MARK, is_viewed: true }, ann);
  expect(await viewed.list("one", ben)).toEqual([]);
  expect(await viewed.list("two", ann)).toEqual([]);
  for (const path of ["b", "c", "d"]) {
    now += 1_000;
    await viewed.set("one", { ...MARK, path, is_viewed: true }, ann);
  }
  expect((await viewed.list("one", ann)).map(({ path }) => path)).toEqual(["b", "c", "d"]);
});
