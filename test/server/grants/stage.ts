import type { Action } from "../../../server/actions/schema.ts";
import type { Grant, Remember } from "../../../server/grants/schema.ts";
import { createTestGate, type TestGate, type TestGateOptions } from "../../helpers.ts";

/** An answer of the API. */
export interface Answer<T = Record<string, unknown>> {
  status: number;
  body: T;
}

export const HOUR = { scope: "project" as const, ttl_seconds: 3600, max_uses: 3 };

/** Opens a gate that holds everything by default, with calls of its routes. */
export async function openStage(options: TestGateOptions = {}) {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" }, ...options });
  const call = async <T>(...request: Parameters<TestGate["request"]>): Promise<Answer<T>> => {
    const response = await gate.request(...request);
    return { status: response.status, body: await response.json() };
  };
  const submit = async (tool: string, input: object, session_id?: string): Promise<Action> =>
    (await call<Action>("POST", "/api/actions", { tool, input, session_id }, "agent")).body;
  const approve = (id: string, remember?: Remember | Record<string, unknown>) =>
    call<Action & { detail?: string; code?: string }>("POST", `/api/actions/${id}/approve`, {
      ...remember && { remember },
    });
  const list = async (query = ""): Promise<Grant[]> =>
    (await call<{ items: Grant[] }>("GET", `/api/grants${query}`)).body.items;
  const run = (command: string, session_id?: string) =>
    submit("run_command", { command }, session_id);
  /** Claims an approved command and reports success. */
  const finish = async ({ id }: Action) => {
    const claim = await call<{ claim_id: string }>("POST", `/api/actions/${id}/claim`, {}, "agent");
    if (claim.status !== 200) return claim;
    const { claim_id } = claim.body;
    const said = { claim_id, exit_code: 0, output: "", truncated: false, duration_ms: 1 };
    return await call("POST", `/api/actions/${id}/result`, said, "agent");
  };
  return {
    gate,
    finish,
    call,
    submit,
    approve,
    list,
    run,
    write: (path: string, content = "x", session_id?: string) =>
      submit("write_file", { path, content }, session_id),
    /** Approves and remembers an action, and runs it when it is a command. Returns the grant. */
    async remember(action: Action, remember: Remember = HOUR): Promise<Grant> {
      const answer = await approve(action.id, remember);
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
      if (action.command !== null) await finish(action);
      return (await list(`?action_id=${action.id}`))[0]!;
    },
    session: async () => (await call<{ id: string }>("POST", "/api/sessions", {}, "agent")).body.id,
    types: async (action_id: string) =>
      (await gate.audit()).filter((event) => event.action_id === action_id).map(({ type }) => type),
  };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;
