import type { AgentSession } from "../../server/agent_monitor/schema.ts";
import { api, unwrap } from "./client.ts";

/**
 * The first request of a session, as the record of its live agent tells it; null if the config
 * keeps it private, or if the agent has ended.
 */
export async function findFirstRequest(session_id: string): Promise<string | null> {
  const query = { gate_session: session_id, scope: "all" } as const;
  const { items } = await unwrap<{ items: AgentSession[] }>(
    api().api["agent-monitor"].sessions.$get({ query }),
  );
  return items[0]?.title ?? null;
}
