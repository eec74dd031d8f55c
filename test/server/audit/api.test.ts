import { expect, test } from "vitest";
import { AuditVerification, Checkpoint } from "../../../server/evidence/schema.ts";
import { isSigned } from "../../../server/evidence/signature.ts";
import { AuditHead } from "../../../server/audit/schema.ts";
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

test.each(["verify", "checkpoint", "head", "head?at=1"])(
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
