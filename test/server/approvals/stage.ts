import { expect } from "vitest";
import type { Caller } from "../../../server/auth/schema.ts";
import { createTestGate, testCaller, type TestGate, type TestGateOptions } from "../../helpers.ts";

// deno-lint-ignore no-explicit-any
export type Body = any;

/** A gate that asks about everything, with the members ann, ben, cy and dan, and a route for all. */
export interface Stage {
  gate: TestGate;
  ask(who: string, method: string, path: string, body?: unknown): Promise<{
    status: number;
    body: Body;
  }>;
  hold(path?: string): Promise<Body>;
  approve(who: string, id: string, body?: unknown): Promise<{ status: number; body: Body }>;
  /** The types of the action's events, with the person of each. */
  story(id: string): Promise<string[]>;
}

export const as = (id: string): Caller => testCaller("reviewer", id);

export async function openStage(
  route: Record<string, unknown>,
  options: TestGateOptions = {},
): Promise<Stage> {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" }, ...options });
  const ask: Stage["ask"] = async (who, method, path, body) => {
    const response = await gate.request(method, path, body, as(who));
    return { status: response.status, body: await response.json() };
  };
  for (const name of ["Ann", "Ben", "Cy", "Dan"]) {
    await ask("reviewer", "POST", "/api/team/members", { name });
  }
  const added = await ask("reviewer", "POST", "/api/approval-routes", { name: "Two", ...route });
  expect(added.body).toMatchObject({ id: "two" });
  let count = 0;
  return {
    gate,
    ask,
    async hold(path = `held/${++count}.txt`) {
      const input = { path, content: `content ${path}\n` };
      const sent = { tool: "write_file", input };
      const response = await gate.request("POST", "/api/actions", sent, "agent");
      expect(response.status).toBe(202);
      return await response.json();
    },
    approve: (who, id, body = {}) => ask(who, "POST", `/api/actions/${id}/approve`, body),
    async story(id) {
      return (await gate.audit()).filter(({ action_id }) => action_id === id)
        .map(({ type, actor }) => actor.kind === "reviewer" ? `${type} ${actor.id}` : type);
    },
  };
}

export const TWO_OF_THREE = { approvers: { members: ["ann", "ben", "cy"] }, quorum: 2 };
