import { expect } from "vitest";
import { testCaller, type TestGate } from "../../helpers.ts";
import {
  enrol,
  type Person,
  prove,
  type Send,
  sendTo,
  type withPasskey,
  withPassphrase,
} from "./person.ts";

/** Fills a ledger with a change of the key, approvals of every kind and rollbacks. */
export async function fill(gate: TestGate, person: Person): Promise<void> {
  const send = sendTo(gate);
  const first = withPassphrase();
  await enrol(send, first);
  await approve(gate, send, first, "one.txt");
  expect((await enrol(send, person, first)).status).toBe(200);
  await approve(gate, send, person, "two.txt");
  await approve(gate, send, person, "three.txt", "approve-with-edit", { content: "edited" });
  const remember = { scope: "session", ttl_seconds: 60, max_uses: 1 };
  await approve(gate, send, person, "four.txt", "approve", { remember });
  const id = await approve(gate, send, person, "five.txt");
  expect((await prove(send, person, ["POST", `/api/actions/${id}/rollback`])).status).toBe(200);
  expect((await prove(send, person, ["POST", `/api/actions/${id}/replay`])).status).toBe(202);
  const { session_id } = await gate.project.actions.get(id);
  const path = `/api/sessions/${session_id}/rollback`;
  expect((await prove(send, person, ["POST", path])).status).toBe(200);
}

/** Approves new writes with one answer of a passkey. Returns the status of each approval. */
export async function approveTogether(
  gate: TestGate,
  person: ReturnType<typeof withPasskey>,
  paths: readonly string[],
): Promise<number[]> {
  const send = sendTo(gate);
  const asked = [];
  for (const path of paths) {
    const { action } = await gate.project.actions.submit(
      { tool: "write_file", input: { path, content: "x" } },
      testCaller("agent"),
    );
    const address = `/api/actions/${action.id}/approve`;
    const { challenge } = await (await send("POST", address, {})).json();
    asked.push({ address, challenge });
  }
  const proofs = person.signAll(asked.map(({ challenge }) => challenge));
  const statuses = [];
  for (const [at, { address }] of asked.entries()) {
    statuses.push((await send("POST", address, { proof: proofs[at] })).status);
  }
  return statuses;
}

async function approve(
  gate: TestGate,
  send: Send,
  person: Person,
  path: string,
  verb = "approve",
  body: Record<string, unknown> = {},
): Promise<string> {
  const input = { path, content: "x" };
  const { action } = await gate.project.actions.submit(
    { tool: "write_file", input },
    testCaller("agent"),
  );
  const answer = await prove(send, person, ["POST", `/api/actions/${action.id}/${verb}`, body]);
  expect(answer.status).toBe(200);
  return action.id;
}
