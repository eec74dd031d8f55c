import { type Client, unwrap } from "../../server/client.ts";
import type { Block } from "../../server/remediation/schema.ts";
import { ago } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

const LATELY_MS = 60 * 60_000;
const MOST_LINES = 3;

/** The session or the agent that a block is about, as the beginning of a line. */
export function blockedSubject({ agent, session_id }: Pick<Block, "agent" | "session_id">): string {
  return agent === null
    ? `session ${session_id}`
    : `every session of the agent "${visibleLine(agent)}"`;
}

/** The quotas that agents reached in the last hour, one line for each kind, newest first. */
export async function reachedQuotas({ api }: Client, now: number): Promise<string[]> {
  const from = new Date(now - LATELY_MS).toISOString();
  const query = { format: "json" as const, type: "quota.reached" as const, from };
  const answer = await unwrap(api.audit.export.$get({ query }));
  const { events } = answer as unknown as { events: Reached[] };
  const newest = new Map(events.map((event) => [event.data.limit, event]));
  return [...newest.values()].toReversed().slice(0, MOST_LINES).map(({ at, data }) =>
    `an agent has reached the quota ${visibleLine(String(data.limit))} of ${data.most} ` +
    `${ago(at, now)} ago, so gate refuses more for a while`
  );
}

interface Reached {
  at: string;
  data: { limit: string; most: number };
}
