import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { PolicyLimits } from "../policy/schema.ts";
import { secrecyOf } from "../risk/paths.ts";
import type { Blocks } from "./blocks.ts";
import { type Deed, findDeed, listDeeds } from "./store.ts";

/** The parts of a project that remediation reads. It changes nothing itself. */
export interface RemediationSource {
  ledger: Ledger;
  blocks: Pick<Blocks, "list">;
  sessions: {
    /** @throws GateError `not_found` */
    get(
      id: string,
    ): Promise<{ id: string; agent: string; ended_at: string | null; home_project: string | null }>;
  };
  budgets: { of(session_id: string): Promise<Record<"files" | "bytes" | "deletions", number>> };
  config: { inForce(home_project?: string): Promise<{ compiled: { limits: PolicyLimits } }> };
}

const PAGE = 200;
/** Older actions of a session are ignored. */
const MOST_DEEDS = 5_000;

/** One action of the project. @throws GateError `not_found` */
export async function requireDeed(ledger: Ledger, id: string): Promise<Deed> {
  const deed = /^[0-9a-f-]{36}$/.test(id) ? await findDeed(ledger, id) : null;
  if (deed) return deed;
  const shown = JSON.stringify(id.toWellFormed());
  throw new GateError(
    "not_found",
    `Cannot assess action ${shown}: it is not in this project`,
    { next: "gate log" },
  );
}

/** The newest actions of a session, newest first. @throws GateError `not_found` */
export async function readDeeds(
  { ledger, sessions }: RemediationSource,
  session_id: string,
): Promise<Deed[]> {
  await sessions.get(session_id);
  const deeds: Deed[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; deeds.length < MOST_DEEDS;) {
    const page = await listDeeds(ledger, session_id, { before, limit: PAGE });
    deeds.push(...page);
    if (page.length < PAGE) break;
    before = page.at(-1)!.seq;
    await pause();
  }
  return deeds;
}

/** True for an action that was carried out, whatever its outcome. */
export function isDone({ status, execution }: Deed): boolean {
  return status === "approved" && /^(succeeded|failed|unknown)$/.test(execution);
}

/** True for an action of high or critical risk. */
export function isGrave({ risk: { level } }: Deed): boolean {
  return level === "high" || level === "critical";
}

/** The file of secrets that an action touches; null for none. */
export function secretOf({ path, reads, changes }: Deed): string | null {
  const paths = [...path === null ? [] : [path], ...reads, ...changes.map((one) => one.path)];
  return paths.find((one) => secrecyOf(one) !== null) ?? null;
}

/** `1 action`, `2 actions`. */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
