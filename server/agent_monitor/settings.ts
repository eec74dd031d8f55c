import { join } from "node:path";
import { z } from "zod";
import { parseConfig } from "../config/load.ts";
import { GlobalConfig } from "../config/schema.ts";
import type { LimitFacts } from "./agents/agent.ts";
import { objectOf, timeOf } from "./agents/agent.ts";
import { readJson, readText } from "./files.ts";

/** The permissions that a person gives the monitor. */
export interface MonitorSettings {
  /** Read the variables by which agents mark their child processes; no other variable is read. */
  reads_environment: boolean;
  /** Show the first request of a session. */
  shows_texts: boolean;
}

/** `agentMonitor` of the global config; the defaults when it is absent or the file is broken. */
export async function readSettings(home: string): Promise<MonitorSettings> {
  const path = join(home, "config.json");
  const text = await readText(path);
  const { readEnvironment, showTexts } = text === null
    ? {}
    : parseConfig(path, text, GlobalConfig).value?.agentMonitor ?? {};
  return { reads_environment: readEnvironment ?? true, shows_texts: showTexts ?? false };
}

const StatusLine = z.looseObject({
  at: z.number(),
  rate_limits: z.record(
    z.string(),
    z.looseObject({ used_percentage: z.number().optional(), resets_at: z.number().optional() }),
  ),
});

/** The file in which gate's status line keeps what an agent told it. */
export function statusLineFile(home: string, agent: string): string {
  return join(home, "run", `status-line-${agent}.json`);
}

/** The rate limits that an agent told gate's status line; null without one. */
export async function readStatusLine(home: string, agent: string): Promise<LimitFacts | null> {
  const { success, data } = StatusLine.safeParse(await readJson(statusLineFile(home, agent)));
  if (!success) return null;
  const limits = Object.entries(data.rate_limits).map(([id, limit]) => {
    const { used_percentage = null, resets_at } = objectOf(limit) as {
      used_percentage?: number;
      resets_at?: number;
    };
    return {
      id,
      window_minutes: MINUTES[id] ?? null,
      used_percent: used_percentage,
      resets_at: resets_at === undefined ? null : timeOf(resets_at * 1000),
    };
  });
  return limits.length === 0 ? null : { at: data.at, limits };
}

const MINUTES: Record<string, number> = { five_hour: 300, seven_day: 10_080 };
