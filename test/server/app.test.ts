import { expect, test } from "vitest";
import { createTestGate } from "../helpers.ts";

test.each<[method: string, path: string, status: number, allow?: string[]]>([
  ["GET", "/api/sessions/", 404],
  ["GET", "/api/actions/x/status/", 404],
  ["PUT", "/api/sessions/x/rollback", 405, ["POST"]],
  ["PUT", "/api/actions", 405, ["GET", "POST"]],
  ["GET", "/api/nothing", 404],
])("%s %s: %i, and what is told of it is true", async (method, path, status, allow) => {
  const gate = await createTestGate();
  const answer = await gate.request(method, path);
  expect(answer.status).toBe(status);
  expect((await answer.json()).allow).toEqual(allow);
});
