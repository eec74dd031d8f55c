import { expect, test } from "vitest";
import { AuditVerification, Checkpoint } from "../../../server/evidence/schema.ts";
import { isSigned } from "../../../server/evidence/signature.ts";
import { AuditHead, AuditState } from "../../../server/audit/schema.ts";
import { createTestGate, testCaller } from "../../helpers.ts";

test("GET /api/audit/verify returns the result and the number of events", async () => {
  const gate = await createTestGate();
  await gate.project.sessions.open({}, testCaller());
  const response = await gate.request("GET", "/api/audit/verify?project=test", undefined, "viewer");
  expect(response.status).toBe(200);
  expect(AuditVerification.parse(await response.json())).toMatchObject({ ok: true, events: 1 });
});

test("GET /api/audit/checkpoint returns a signed head that verifies", async () => {
  const gate = await createTestGate();
  await gate.project.sessions.open({}, testCaller());
  const response = await gate.request("GET", "/api/audit/checkpoint", undefined, "viewer");
  expect(response.status).toBe(200);
  const checkpoint = Checkpoint.parse(await response.json());
  expect(checkpoint).toMatchObject({ project_id: "test", ...gate.project.ledger.head });
  expect(isSigned(checkpoint)).toBe(true);
  expect(isSigned({ ...checkpoint, seq: 2 })).toBe(false);
});

test.each(["verify", "checkpoint", "state", "events", "head", "head?at=1"])(
  "GET /api/audit/%s of an unknown project is 404",
  async (what) => {
    const gate = await createTestGate();
    const response = await gate.request(
      "GET",
      `/api/audit/${what}${what.includes("?") ? "&" : "?"}project=nope`,
    );
    expect(response.status).toBe(404);
  },
);

test("GET /api/audit/head returns the head and the hash of an earlier event", async () => {
  const gate = await createTestGate();
  const head = async (query = "") => {
    const response = await gate.request("GET", `/api/audit/head${query}`, undefined, "viewer");
    return { status: response.status, body: await response.json() };
  };
  expect((await head()).body).toMatchObject({ project_id: "test", seq: 0, at: null });
  await gate.project.sessions.open({}, testCaller());
  await gate.project.sessions.open({}, testCaller());
  const [first, second] = await gate.audit();
  const { status, body } = await head("?at=1");
  expect(status).toBe(200);
  expect(AuditHead.parse(body)).toEqual({
    project_id: "test",
    seq: 2,
    hash: second!.hash,
    at: { seq: 1, hash: first!.hash },
  });
  expect((await head("?at=3")).body.at).toBe(null);
  for (const bad of ["0", "-1", "1.5", "x", "1e99", ""]) {
    expect((await head(`?at=${bad}`)).status, bad).toBe(400);
  }
});

test("GET /api/audit/state tells the head, the signed head and the newest check", async () => {
  const gate = await createTestGate();
  const read = async () => {
    const response = await gate.request("GET", "/api/audit/state", undefined, "viewer");
    expect(response.status).toBe(200);
    return AuditState.parse(await response.json());
  };
  expect(await read()).toMatchObject({ events: 0, newest_at: null, checkpoint: null, check: null });
  await gate.project.sessions.open({}, testCaller());
  const { seq } = await gate.project.audit.checkpoint();
  await gate.project.sessions.open({}, testCaller());
  const [, newest] = await gate.audit();
  expect(await read()).toMatchObject({
    events: 2,
    newest_at: newest!.at,
    hash: newest!.hash,
    checkpoint: { seq },
    check: null,
  });
  const result = await gate.project.audit.verify();
  const { check } = await read();
  expect(check).toMatchObject({ checked: 2, of: 2, result: { ...result } });
  expect(check!.finished_at).not.toBe(null);
});

test("GET /api/audit/events lists what matches, newest first, page by page", async () => {
  const gate = await createTestGate();
  const first = await gate.project.sessions.open({}, testCaller());
  for (let n = 0; n < 6; n++) await gate.project.sessions.open({ agent: `a${n}` }, testCaller());
  await gate.project.sessions.end(first.id, testCaller());
  const list = async (query: string) => {
    const response = await gate.request("GET", `/api/audit/events${query}`, undefined, "viewer");
    return { status: response.status, body: await response.json() };
  };
  const seqs = async (query: string) =>
    (await list(query)).body.items.map(({ seq }: { seq: number }) => seq);
  expect(await seqs("")).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  expect(await seqs("?type=session.ended")).toEqual([8]);
  expect(await seqs(`?session_id=${first.id}`)).toEqual([8, 1]);
  expect(await seqs(`?session_id=${first.id}&type=session.started`)).toEqual([1]);
  expect(await seqs("?to=2000-01-01")).toEqual([]);
  expect(await seqs("?from=2000-01-01&window=3650d")).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  for (const filter of ["", "&from=2000-01-01", "&type=session.started"]) {
    const seen: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body } = await list(`?limit=3${filter}${cursor && `&cursor=${cursor}`}`);
      expect(body.items.length).toBeLessThanOrEqual(3);
      seen.push(...body.items.map(({ seq }: { seq: number }) => seq));
      cursor = body.next_cursor;
    }
    expect(seen, filter).toEqual(
      filter.includes("type") ? [7, 6, 5, 4, 3, 2, 1] : [
        8,
        7,
        6,
        5,
        4,
        3,
        2,
        1,
      ],
    );
  }
  for (const bad of ["?limit=0", "?limit=201", "?cursor=x", "?type=nope", "?from=never"]) {
    expect((await list(bad)).status, bad).toBe(400);
  }
});
