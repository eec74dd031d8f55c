import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KnownContents } from "../../../server/actions/known_contents.ts";
import type { Policies } from "../../../server/policy/schema.ts";
import { HashSet } from "../../../server/retention/hash_set.ts";
import type { TestGate } from "../../helpers.ts";
import { agent, openGate, reviewer, sha } from "../actions/harness.ts";

const DAY = 24 * 60 * 60 * 1_000;
const POLICIES: Policies = {
  defaultEffect: "allow",
  askPaths: ["held/**"],
  approvalTimeoutSeconds: 100 * 24 * 60 * 60,
};

/** A gate whose retention a person has accepted. */
async function openKept(days = 30) {
  const world = await openGate({ policies: POLICIES });
  const { gate } = world;
  await setRetention(gate, { days });
  const collect = async (input = {}) => (await send(gate, "POST", "/api/retention/gc", input)).body;
  return { ...world, collect };
}

async function send(gate: TestGate, method: string, path: string, body?: unknown) {
  const answer = await gate.request(method, path, body);
  return { status: answer.status, body: await answer.json() };
}

async function setRetention(gate: TestGate, retention: unknown, accepts = true): Promise<void> {
  const path = join(gate.home, "config.json");
  const config = { ...JSON.parse(readFileSync(path, "utf8")), retention };
  writeFileSync(path, JSON.stringify(config));
  const { body } = await send(gate, "GET", "/api/config");
  const waiting = body.outside_changes.find((one: { path: string }) => one.path === path);
  if (!accepts || !waiting?.waiting) return;
  const { after_sha256: sha256 } = waiting;
  const accepted = await send(gate, "POST", "/api/config/accept", { path, sha256 });
  expect(accepted.status).toBe(200);
}

test("old contents are dropped; records, log and newer actions keep what they need", async () => {
  const { gate, write, back, collect, at } = await openKept();
  const old = await write("a.txt", "one");
  const changed = await write("a.txt", "two");
  const command = await runCommand(gate, "a long output");
  gate.clock.advance(40 * DAY);
  const newer = await write("a.txt", "three");

  const planned = await collect({ dry_run: true });
  expect(planned).toMatchObject({
    ...{ project_id: "test", dry_run: true, days: 30, until: expect.any(String) },
    // "one" and the output; "two" is what the newer action restores.
    dropped: { contents: 2, bytes: expect.any(Number) },
    needed: { contents: 1 },
  });
  expect(await isKept(gate, "one")).toBe(true);

  expect(await collect()).toEqual({ ...planned, dry_run: false });
  expect(await collect()).toMatchObject({ dropped: { contents: 0, bytes: 0 } });
  expect(await isKept(gate, "one")).toBe(false);
  const event = (await gate.audit()).filter(({ type }) => type === "contents.dropped");
  expect(event).toMatchObject([{
    actor: { kind: "reviewer", id: "reviewer" },
    data: { days: 30, until: planned.until, ...planned.dropped },
  }]);
  expect(await gate.project.audit.verify()).toMatchObject({ ok: true });

  const dropped_at = new Date(gate.clock.now).toISOString();
  const day = dropped_at.slice(0, 10);
  const shown = await send(gate, "GET", `/api/actions/${old.id}`);
  expect(shown).toMatchObject({
    status: 200,
    body: { contents_dropped_at: dropped_at, after: { text: null, bytes: 3 } },
  });
  const output = await send(gate, "GET", `/api/actions/${command}`);
  expect(output.body).toMatchObject({ contents_dropped_at: dropped_at, output: { text: "" } });
  const waited = await gate.project.actions.wait(command, { timeout_ms: 0 }, agent);
  expect(waited.result).toMatchObject({ output: "", output_dropped: true });
  expect((await send(gate, "GET", `/api/actions/${newer.id}`)).body)
    .toMatchObject({
      contents_dropped_at: null,
      before: { text: "two" },
      after: { text: "three" },
    });
  const diff = await send(gate, "GET", `/api/sessions/${old.session_id}/diff`);
  expect(diff.body.actions[0].files).toMatchObject([{ patch: null, omitted: "dropped" }]);

  await back(newer.id);
  expect(readFileSync(at("a.txt"), "utf8")).toBe("two");
  expect(await send(gate, "POST", `/api/actions/${changed.id}/rollback`, {})).toMatchObject({
    status: 409,
    body: { code: "conflict", detail: expect.stringContaining(`was dropped on ${day}`) },
  });
  expect((await send(gate, "GET", `/api/actions/${changed.id}`)).body).toMatchObject({
    reversible: false,
    reversibility: { level: "not", why: expect.stringContaining(`was dropped on ${day}`) },
  });
  const whole = await send(gate, "POST", `/api/sessions/${changed.session_id}/rollback`, {});
  expect(whole).toMatchObject({
    status: 409,
    body: {
      summary: expect.stringMatching(/was dropped on .*; nothing was touched$/),
      next: `gate show ${changed.id}`,
    },
  });
  expect(readFileSync(at("a.txt"), "utf8")).toBe("two");
});

test("a replay of an action without its content is refused", async () => {
  const { gate, write, back, collect } = await openKept();
  const old = await write("a.txt", "one");
  await back(old.id);
  gate.clock.advance(40 * DAY);
  await collect();
  expect(await send(gate, "POST", `/api/actions/${old.id}/replay`, {})).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("its content was dropped on") },
  });
});

test("unsettled actions, and what was settled late, keep their contents", async () => {
  const { gate, write, collect, actions, read } = await openKept();
  const [held, late] = [await write("held/a.txt", "held"), await write("held/b.txt", "late")];
  gate.clock.advance(40 * DAY);
  expect(await collect()).toMatchObject({ dropped: { contents: 0 }, needed: { contents: 2 } });
  await actions.reject(late.id, { reason: "no" }, reviewer);
  gate.clock.advance(20 * DAY);
  expect(await collect()).toMatchObject({ dropped: { contents: 0 }, needed: { contents: 2 } });
  gate.clock.advance(20 * DAY);
  expect(await collect()).toMatchObject({ dropped: { contents: 1 }, needed: { contents: 1 } });
  await actions.approve(held.id, {}, reviewer);
  expect(read("held/a.txt")).toBe("held");
});

test("a rollback keeps what it would restore and what its original did", async () => {
  const { gate, write, back, collect, read } = await openKept();
  const old = await write("a.txt", "one");
  gate.clock.advance(40 * DAY);
  const { rollback } = await back(old.id);
  expect(await collect()).toMatchObject({ dropped: { contents: 0 }, needed: { contents: 1 } });
  await back(rollback!.id);
  expect(read("a.txt")).toBe("one");
});

test("dropped contents are kept again when an action names them", async () => {
  const { gate, write, back, collect, read } = await openKept();
  const large = randomBytes(3 * 1024 * 1024).toString("hex");
  await write("a.txt", "one");
  await write("b.txt", large);
  gate.clock.advance(40 * DAY);
  const { dropped } = await collect();
  expect(dropped).toMatchObject({ contents: 2 });
  expect(dropped.bytes).toBeGreaterThan(3 * 1024 * 1024);
  const [chunks] = await gate.project.ledger.all("SELECT count(*) AS n FROM blob_chunks");
  expect(chunks).toEqual({ n: 0 });

  for (const [path, content] of [["a.txt", "one"], ["b.txt", large]] as const) {
    await write(path, "other");
    const again = await write(path, content);
    const newest = await write(path, "newest");
    await back(newest.id);
    expect(read(path)).toBe(content);
    expect((await send(gate, "GET", `/api/actions/${again.id}`)).body.contents_dropped_at)
      .toBeNull();
  }
});

test("only an accepted retention drops anything, and a longer one holds at once", async () => {
  const { gate, write } = await openGate({ policies: POLICIES });
  const gc = (body: unknown = {}) => send(gate, "POST", "/api/retention/gc", body);
  const days = async () => (await send(gate, "GET", "/api/retention")).body.days;
  await write("a.txt", "one");
  gate.clock.advance(400 * DAY);
  expect(await gc()).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining("no retention is in force") },
  });
  expect((await gc({ dry_run: true, days: 10 })).body).toMatchObject({ dropped: { contents: 1 } });
  expect(await gc({ days: 10 })).toMatchObject({ status: 409 });
  for (const days of [0, -1, 1.5, "7", 1e9, null]) {
    expect((await gc({ dry_run: true, days })).status, `${days}`).toBe(400);
  }
  await setRetention(gate, { days: 30 }, false);
  expect(await days()).toBeNull();
  expect(await gc()).toMatchObject({
    status: 409,
    body: {
      summary: "Cannot drop old contents: a person must accept the 30 days of config.json",
      next: "gate config accept",
    },
  });
  await setRetention(gate, { days: 30 });
  expect(await days()).toBe(30);
  await setRetention(gate, { days: 300 }, false);
  expect(await days()).toBe(300);
  await setRetention(gate, { days: 5 }, false);
  expect(await days()).toBe(30);
  await setRetention(gate, {}, false);
  expect(await days()).toBeNull();
});

test("contents that a commit uses are not dropped, and their use waits for the drop", async () => {
  const known = new KnownContents({ uptime: () => 0 });
  await known.use([{ sha256: "used" }]);
  known.note([{ sha256: "free" }]);
  const steps: string[] = [];
  let finish = () => {};
  const dropping = known.drop(["used", "free"], async (unused) => {
    steps.push(`drop ${unused}`);
    await new Promise<void>((resolve) => finish = resolve);
    steps.push("dropped");
  });
  const using = known.use([{ sha256: "free" }]).then(() => steps.push("used"));
  await known.use([{ sha256: "other" }]);
  finish();
  await Promise.all([dropping, using]);
  expect(steps).toEqual(["drop free", "dropped", "used"]);
  expect(known.has("free")).toBe(false);
});

test("beyond the bound of remembered lookups nothing is dropped for an hour", async () => {
  let now = 0;
  const known = new KnownContents({ uptime: () => now });
  const droppedOf = async (...hashes: string[]) => {
    let dropped: string[] = [];
    await known.drop(hashes, (unused) => Promise.resolve(dropped = unused));
    return dropped;
  };
  await known.use([{ sha256: "first" }]);
  await known.use(Array.from({ length: 20_000 }, (_, n) => ({ sha256: `${n}` })));
  expect(await droppedOf("first", "free")).toEqual([]);
  now = 60 * 60 * 1_000 + 1;
  expect(await droppedOf("first", "free")).toEqual(["first", "free"]);
});

test("lookups that are an hour old are forgotten, and others can be dropped", async () => {
  let now = 0;
  const known = new KnownContents({ uptime: () => now });
  await known.use([{ sha256: "old" }]);
  now = 60 * 60 * 1_000 + 1;
  await known.use([{ sha256: "new" }]);
  let dropped: string[] = [];
  await known.drop(["old", "new"], (unused) => Promise.resolve(dropped = unused));
  expect(dropped).toEqual(["old"]);
});

test("a drop that fails ends the wait", async () => {
  const known = new KnownContents({ uptime: () => 0 });
  const dropping = known.drop(["a"], () => Promise.reject(new Error("disk")));
  const using = known.use([{ sha256: "a" }]);
  await expect(dropping).rejects.toThrow("disk");
  await using;
});

test("the set of hashes has what was added, in any order", () => {
  const set = new HashSet();
  const hashes = Array.from({ length: 5_000 }, (_, n) => sha(String(n)));
  for (const [at, hash] of hashes.entries()) {
    expect(set.has(hash)).toBe(false);
    set.add(hash);
    expect(set.has(hashes[Math.floor(at / 2)]!)).toBe(true);
  }
  expect(hashes.every((hash) => set.has(hash))).toBe(true);
});

async function isKept({ project: { ledger } }: TestGate, content: string): Promise<boolean> {
  const [row] = await ledger.all("SELECT data IS NOT NULL AS kept FROM blobs WHERE sha256 = ?", [
    sha(content),
  ]);
  return row?.kept === 1;
}

/** Runs a command to its end, as its agent would report it. */
async function runCommand({ project: { actions } }: TestGate, output: string): Promise<string> {
  const { action } = await actions.submit(
    { tool: "run_command", input: { command: "true" }, wait_ms: 0 },
    agent,
  );
  const { claim_id } = await actions.claim(action.id, {}, agent);
  const result = { claim_id, exit_code: 0, output, truncated: false, duration_ms: 1 };
  await actions.result(action.id, result, agent);
  return action.id;
}
