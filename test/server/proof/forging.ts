import { expect } from "vitest";
import { join } from "node:path";
import { Database } from "../../../server/db/database.ts";
import type { Value } from "../../../server/db/ledger.ts";
import { createTestGate, testCaller, type TestGate, type TestGateOptions } from "../../helpers.ts";
import { enrol, type Person, prove, type Send, sendTo, withPassphrase } from "./person.ts";

/** A gate whose person has enrolled a passphrase. */
export interface Stage {
  gate: TestGate;
  send: Send;
  person: Person;
}

export async function open(options: TestGateOptions = {}): Promise<Stage> {
  const policies = { defaultEffect: "ask" as const };
  const gate = await createTestGate({ proof: "none", policies, ...options });
  const send = sendTo(gate);
  const person = withPassphrase();
  expect((await enrol(send, person)).status).toBe(200);
  return { gate, send, person };
}

/** Another program of the same user writes the ledger of the running daemon. */
export async function forge({ home }: TestGate, sql: string, args: Value[] = []): Promise<void> {
  const path = join(home, "projects", "test", "ledger.db");
  const database = await Database.open(path, { busy_limit_ms: 5_000 });
  await database.batch([{ sql, args }]);
  await database.close();
}

const WRITE = { path: "a.txt", content: "new\n" };

export async function hold(
  gate: TestGate,
  tool = "write_file",
  input: Record<string, unknown> = WRITE,
): Promise<string> {
  const { action } = await gate.project.actions.submit({ tool, input }, testCaller("agent"));
  expect(action.status).toBe("pending");
  return action.id;
}

export function approve(
  { send, person }: Stage,
  id: string,
  body = {},
  verb = "approve",
): Promise<Response> {
  return prove(send, person, ["POST", `/api/actions/${id}/${verb}`, body]);
}
