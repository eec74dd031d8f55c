import { expect, test } from "vitest";
import { createTestGate } from "../../../helpers.ts";

const SECRET = `ghp_${"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7a1B2c3D4e5"}`.slice(0, 40);

test("a secret that an agent sends or a command prints is kept nowhere but where it is executed", async () => {
  const gate = await createTestGate();
  const ask = async (method: string, path: string, body?: unknown) =>
    await (await gate.request(method, path, body, "agent")).json();
  const foreign = await ask("POST", "/api/actions", {
    tool: "mcp__x__y",
    input: { note: `use ${SECRET}`, deep: [{ [`k ${SECRET}`]: SECRET }] },
  });
  expect(JSON.stringify(await ask("GET", `/api/actions/${foreign.id}`))).not.toContain(SECRET);

  const command = `curl -H 'x: ${SECRET}' https://x.test`;
  const run = await ask("POST", "/api/actions", { tool: "run_command", input: { command } });
  // The person and the process that runs it see what would be executed.
  expect(run.command).toBe(command);
  const claim = await ask("POST", `/api/actions/${run.id}/claim`, {});
  expect(claim.command).toBe(command);
  await ask("POST", `/api/actions/${run.id}/result`, {
    claim_id: claim.claim_id,
    exit_code: 1,
    truncated: false,
    duration_ms: 1,
    output: `token is ${SECRET}\nconst password: string\n`,
    error: `failed: ${SECRET}`,
  });
  const { output, error } = await ask("GET", `/api/actions/${run.id}`);
  expect([output.text, error]).toEqual([
    "token is [redacted]\nconst password: string\n",
    "failed: [redacted]",
  ]);
  const audit = await gate.audit();
  expect(audit.some(({ type }) => type === "action.finished")).toBe(true);
  expect(JSON.stringify(audit)).not.toContain(SECRET);
  const exported = await (await gate.request("GET", "/api/audit/export?format=csv")).text();
  expect(exported).not.toContain(SECRET);
});

test("what the kept copy of an input leaves out is announced, and no field hides another", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const many = Array.from({ length: 150 }, (_, n) => `n${n}`);
  const long = "x".repeat(5_000);
  const input = {
    list: many,
    inner: Object.fromEntries(many.map((name) => [name, 1])),
    [`${long}1`]: "first",
    [`${long}2`]: "second",
  };
  const { id } = await (await gate.request("POST", "/api/actions", { tool: "mcp__x__y", input }))
    .json();
  const kept = (await (await gate.request("GET", `/api/actions/${id}`)).json()).input;
  expect(kept.list.slice(99)).toEqual(["n99", "[50 more entries]"]);
  expect(Object.entries(kept.inner).slice(99)).toEqual([["n99", 1], [
    "[50 more fields]",
    "[not kept]",
  ]]);
  expect(Object.values(kept).slice(2)).toEqual(["first", "second"]);
});
