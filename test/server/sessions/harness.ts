import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Scope } from "../../../server/auth/schema.ts";
import { createTestGate, type TestGateOptions } from "../../helpers.ts";

/** A gate asked over HTTP, with sessions that agents opened. */
export async function openSessions(options: TestGateOptions = {}) {
  const gate = await createTestGate(options);
  const ask = async (method: string, path: string, body?: unknown, scope?: Scope) => {
    const response = await gate.request(method, path, body, scope);
    return { status: response.status, body: await response.json() };
  };
  const open = async (agent: string) =>
    (await ask("POST", "/api/sessions", { agent }, "agent")).body.id as string;
  const submit = async (session_id: string, tool: string, input: Record<string, unknown>) =>
    (await ask("POST", "/api/actions", { tool, input, session_id }, "agent")).body;
  return {
    gate,
    ask,
    open,
    submit,
    write: async (session_id: string, path: string, content: string) =>
      (await submit(session_id, "write_file", { path, content })).id as string,
    back: (session_id: string, body: Record<string, unknown> = {}) =>
      ask("POST", `/api/sessions/${session_id}/rollback`, body),
    part: (session_id: string, action_ids: string[], more: Record<string, unknown> = {}) =>
      ask("POST", `/api/sessions/${session_id}/rollback-partial`, { action_ids, ...more }),
    diff: (session_id: string) => ask("GET", `/api/sessions/${session_id}/diff`),
    /** The file's text; null where there is none. */
    read(path: string): string | null {
      const target = join(gate.root, path);
      return existsSync(target) ? readFileSync(target, "utf8") : null;
    },
  };
}
