import { expect, test } from "vitest";
import { AuditVerification, Checkpoint } from "../../../server/evidence/schema.ts";
import { isSigned } from "../../../server/evidence/signature.ts";
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

test.each(["verify", "checkpoint"])(
  "GET /api/audit/%s of an unknown project is 404",
  async (what) => {
    const gate = await createTestGate();
    const response = await gate.request("GET", `/api/audit/${what}?project=nope`);
    expect(response.status).toBe(404);
  },
);
