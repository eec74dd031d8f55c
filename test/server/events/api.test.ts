import { expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

test.each([
  ["", 200],
  ["?project=test", 200],
  ["?project=", 200],
  ["?project=nope", 404],
  ["?topics=nope", 400],
])("GET /api/events%s is answered with %i", async (query, status) => {
  const gate = await createTestGate();
  const answer = await gate.request("GET", `/api/events${query}`);
  expect(answer.status).toBe(status);
  if (status !== 200) expect((await answer.json()).detail).toContain(status === 404 ? "nope" : "");
  else await answer.body?.cancel();
});
