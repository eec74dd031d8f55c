import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CliError } from "../../../cli/errors.ts";
import { verifyFile } from "../../../cli/evidence/verify.ts";
import type { AuditExport } from "../../../server/audit/schema.ts";
import type { Checkpoint } from "../../../server/evidence/schema.ts";
import { ensureEvidencePage } from "../../evidence_page.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { chooseSeed, createRandom } from "../../random.ts";

const EVENTS = 450;
const FORMATS = ["bundle", "json"] as const;

let folder: string;
let gate: TestGate;
let first: Checkpoint;
let written: Record<(typeof FORMATS)[number], string>;

beforeAll(async () => {
  await ensureEvidencePage();
  folder = mkdtempSync(join(tmpdir(), "gate-evidence-"));
  gate = await createTestGate();
  await plant(gate, EVENTS / 2);
  first = await gate.project.audit.checkpoint();
  await plant(gate, EVENTS / 2);
  written = { bundle: await exported("bundle"), json: await exported("json") };
});
afterAll(async () => {
  await gate.close();
  rmSync(folder, { recursive: true });
});

async function plant({ project, clock }: TestGate, count: number): Promise<void> {
  const { id } = await project.sessions.open({ agent: "codex" }, testCaller());
  for (let n = 1; n < count; n++) clock.advance(1_000);
  await project.ledger.commit({
    statements: [],
    events: Array.from({ length: count - 1 }, (_, n) => ({
      session_id: id,
      action_id: n % 3 ? crypto.randomUUID() : null,
      type: "action.submitted" as const,
      actor: { kind: "agent" as const, id: "codex" },
      data: { path: `src/<b>ä${n}\u2028.ts`, status: "approved", n: n / 7, 10: null, 9: [] },
    })),
  });
}

async function exported(format: string): Promise<string> {
  const answer = await gate.request("GET", `/api/audit/export?format=${format}`);
  expect(answer.status).toBe(200);
  return await answer.text();
}

let files = 0;
function save(text: string | Uint8Array): string {
  const path = join(folder, `file${++files}`);
  writeFileSync(path, text);
  return path;
}

const check = (text: string | Uint8Array, known = {}) => verifyFile(save(text), known);

test.each(FORMATS)(
  "an unchanged %s verifies, also against a known key and checkpoint",
  async (f) => {
    const { head } = gate.project.ledger;
    const good = {
      ok: true,
      project_id: "test",
      events: EVENTS,
      checkpoints: 2,
      head,
      problem: null,
      from: "2026-01-01T00:00:00.000Z",
      public_key: first.public_key,
    };
    expect(await check(written[f])).toMatchObject({ ...good, compared_with: [] });
    expect(await check(written[f], { key: first.public_key })).toMatchObject({
      ...good,
      compared_with: ["key"],
    });
    for (const checkpoint of [`${first.seq}:${first.hash}`, save(JSON.stringify(first))]) {
      expect(await check(written[f], { checkpoint, key: save(`${first.public_key}\n`) }))
        .toMatchObject({ ...good, compared_with: ["key", "checkpoint"] });
    }
  },
);

test("an export that was reformatted as JSON verifies, and a changed one does not", async () => {
  const text = JSON.stringify(JSON.parse(written.json), null, 2);
  expect(await check(text)).toMatchObject({ ok: true, events: EVENTS });
  const edited = text.replace('"kind": "agent"', '"kind": "agent", "name": "x"');
  expect(await check(edited)).toMatchObject({ ok: false, problem: { seq: 1 } });
});

test.each(FORMATS)(
  "each of 500 single-byte changes of a %s is found in the right event",
  async (format) => {
    const seed = chooseSeed(process.env);
    console.log(`${format}: GATE_SEED=${seed}`);
    const random = createRandom(seed);
    const whole = Buffer.from(written[format]);
    const text = whole.toString("latin1");
    const [begin, end] = dataOf(text);
    const path = save(whole);
    const missed: string[] = [];
    for (let n = 0; n < 500; n++) {
      const at = begin + random(end - begin);
      const byte = (whole[at]! + 1 + random(255)) % 256;
      const changed = Buffer.from(whole);
      changed[at] = byte;
      const seq = seqAt(text, at);
      writeFileSync(path, changed);
      const found = await verifyFile(path, {}).then(
        ({ ok, problem }) => !ok && (seq === null || problem?.seq === seq),
        // The proof itself became unreadable.
        (error) => error instanceof CliError && seq === null,
      );
      if (!found) missed.push(`seed ${seed}: byte ${at} of event ${seq} became ${byte}`);
    }
    expect(missed).toEqual([]);
  },
);

/** The offsets of the start of the proof and the end of the last event; each character is a byte. */
function dataOf(text: string): [number, number] {
  const last = text.lastIndexOf('{"seq":');
  return [text.indexOf('"checkpoint":'), text.indexOf("\n", last)];
}

/** The number of the event whose line contains the byte at `at`; null for none. */
function seqAt(text: string, at: number): number | null {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, text.indexOf("\n", at));
  if (text[at] === "\n" || line.startsWith("<")) return null;
  const seq = /^\{"seq":(\d+),/.exec(line)?.[1];
  // A comma between two events belongs to neither.
  return seq === undefined || text.slice(at, at + 2) === ",\n" ? null : Number(seq);
}

/** The export after `change`. */
function edit(change: (body: AuditExport) => void): string {
  const body = JSON.parse(written.json) as AuditExport;
  change(body);
  const { events, ...proof } = body;
  const lines = events.map((event) => `\n${JSON.stringify(event)}`).join(",");
  return `${JSON.stringify(proof).slice(0, -1)},"events":[${lines}\n]}\n`;
}

test.each<[string, (body: AuditExport) => void, RegExp]>([
  ["a missing event", ({ events }) => void events.splice(6, 1), /event 7 is missing/],
  ["a missing first event", ({ events }) => void events.shift(), /event 1 is missing/],
  ["no events", ({ events }) => void events.splice(0), /ends at event 0, but event 450/],
  ["a missing tail", ({ events }) => void events.splice(-3), /ends at event 447, but event 450/],
  ["events in another order", ({ events }) => void events.reverse(), /event 1 is missing/],
  ["another checkpoint hash", ({ checkpoints }) => {
    checkpoints[0]!.hash = "0".repeat(64);
  }, /the checkpoint at event 225 has a wrong signature/],
  ["another key of the head", ({ checkpoint }) => {
    checkpoint.public_key = "AAAA";
  }, /was signed with another key|has a wrong signature/],
])("verification reports %s", async (_name, change, what) => {
  const { ok, problem } = await check(edit(change));
  expect({ ok, what: problem?.what }).toEqual({ ok: false, what: expect.stringMatching(what) });
});

test("a bundle whose proof does not end where gate ends it is rejected", async () => {
  const changed = written.bundle.replace(/^<\/script>$/m, "</Tcript>");
  expect(changed).not.toBe(written.bundle);
  await expect(check(changed)).rejects.toThrow("or it is damaged");
});

test("only a known checkpoint reveals a tail cut together with its proof", async () => {
  const { checkpoint } = JSON.parse(written.json) as AuditExport;
  const cut = edit((body) => {
    body.events.splice(first.seq);
    body.checkpoint = first;
    body.checkpoints = [first];
  });
  expect(await check(cut)).toMatchObject({ ok: true, events: first.seq });
  const known = { checkpoint: `${checkpoint.seq}:${checkpoint.hash}` };
  expect(await check(cut, known)).toMatchObject({ ok: false, problem: { seq: first.seq + 1 } });
});

test("a known key or checkpoint reveals a forged log", async () => {
  const other = await createTestGate();
  await plant(other, EVENTS);
  const answer = await other.request("GET", "/api/audit/export?format=bundle");
  const text = await answer.text();
  expect(await check(text)).toMatchObject({ ok: true });
  expect(await check(text, { key: first.public_key }))
    .toMatchObject({ ok: false, problem: { seq: null } });
  expect(await check(text, { checkpoint: `${first.seq}:${first.hash}` }))
    .toMatchObject({ ok: false, problem: { seq: first.seq } });
});

test("a truncated file never verifies", async () => {
  for (const format of FORMATS) {
    const whole = Buffer.from(written[format]);
    const [begin, end] = dataOf(whole.toString("latin1"));
    for (let part = 0; part < 20; part++) {
      const at = begin + Math.floor((end - begin - 1) * part / 20);
      const found = await check(whole.subarray(0, at)).then(({ ok }) => !ok, () => true);
      expect(found, `${format} cut at ${at}`).toBe(true);
    }
  }
});

test.each([
  ["an empty file", ""],
  ["CSV", "seq,at\r\n1,2\r\n"],
  ["other JSON", '{"events":[],"x":1}'],
  ["another page", "<!doctype html>\n<p>hello\n"],
  ["a page with a broken proof", (whole: string) => whole.replace('"version":1', '"version":2')],
])("%s is rejected as no audit log", async (_name, text) => {
  const file = typeof text === "string" ? text : text(written.bundle);
  await expect(check(file)).rejects.toThrow(CliError);
});

test.each([
  [{ key: "nonsense" }],
  [{ checkpoint: "12" }],
  [{ checkpoint: "12:abc" }],
])("an invalid key or checkpoint is wrong usage: %j", async (known) => {
  await expect(check(written.json, known)).rejects.toMatchObject({ exit: 64 });
});

test("a bundle export rejects filters and several projects", async () => {
  const paths = [
    "audit/export?format=bundle&window=7d",
    "audit/export?format=bundle&type=vote.cast",
  ];
  for (const path of [...paths, "global/audit/export?format=bundle"]) {
    expect((await gate.request("GET", `/api/${path}`)).status, path).toBe(400);
  }
  const answer = await gate.request("GET", "/api/audit/export?format=bundle", undefined, "viewer");
  expect(answer.headers.get("content-disposition")).toBe('attachment; filename="gate-audit.html"');
  const page = await answer.text();
  expect(page).toBe(written.bundle);
  expect(page).toContain("default-src 'none'");
});

test("a bundle contains one event per line", () => {
  const lines = readFileSync(save(written.bundle), "utf8").split("\n");
  expect(lines.filter((line) => line.startsWith('{"seq":'))).toHaveLength(EVENTS);
});
