import type { AgentSession, OrphanPort } from "../../server/agent_monitor/schema.ts";
import type { IconName } from "../parts/icon.tsx";

interface Status {
  icon: IconName;
  word: string;
  tone: string;
  /** In a sum: "2 work". */
  one: string;
  many: string;
}

/** The states of a session, those that need a person first. */
export const STATUSES: Record<AgentSession["status"], Status> = {
  waiting_approval: {
    ...{ icon: "clock", word: "waits for your approval", tone: "warn" },
    ...{ one: "waits for your approval", many: "wait for your approval" },
  },
  waiting_input: {
    ...{ icon: "help", word: "waits for your answer", tone: "warn" },
    ...{ one: "waits for your answer", many: "wait for your answer" },
  },
  rate_limited: {
    ...{ icon: "ban", word: "rate limited", tone: "danger" },
    ...{ one: "is rate limited", many: "are rate limited" },
  },
  working: { icon: "replay", word: "works", tone: "info", one: "works", many: "work" },
  idle: { icon: "dot", word: "idles", tone: "quiet", one: "idles", many: "idle" },
  unknown: {
    ...{ icon: "info", word: "state unknown", tone: "quiet" },
    ...{ one: "has an unknown state", many: "have an unknown state" },
  },
  done: { icon: "check", word: "ended", tone: "quiet", one: "has ended", many: "have ended" },
};

export const SOURCES: Record<AgentSession["status_source"], string> = {
  gate: "gate holds its action",
  registry: "the agent says so",
  transcript: "from its record",
  process: "from its processes alone",
};

export const ENDS = { exit: "exited", killed: "was killed", unknown: "ended" } as const;

export const FINDS: Record<OrphanPort["found_by"], string> = {
  tracked: "gate saw the session start it",
  marked: "its environment names the session",
};

const RANKS = Object.keys(STATUSES);

/** Sessions that need a person come first. */
export function rankOf({ status }: Pick<AgentSession, "status">): number {
  return RANKS.indexOf(status);
}

export function keyOf({ agent, session_id }: { agent: string; session_id: string }): string {
  return `${agent} ${session_id}`;
}

/** A time span of a limit: "5 hours", "7 days". */
export function windowOf(minutes: number): string {
  const [n, noun] = minutes % 1440 === 0
    ? [minutes / 1440, "day"]
    : minutes % 60 === 0
    ? [minutes / 60, "hour"]
    : [minutes, "minute"];
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** "$0.42"; less than a cent is said so. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < 0.01) return "less than $0.01";
  return amount.toLocaleString("en-US", { style: "currency", currency: "USD" });
}
