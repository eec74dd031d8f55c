import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import type { PolicyLimits } from "../policy/schema.ts";
import type { Blocks } from "./blocks.ts";
import { countCritical, listDenials } from "./store.ts";

/** The facts of an action that count for the thresholds of its session. */
export interface Conduct {
  session_id: string;
  agent: string;
  action_id: string;
  is_denied: boolean;
  is_critical: boolean;
}

interface ThresholdServices {
  ledger: Ledger;
  environment: Environment;
  blocks: Blocks;
}

/** So many denials are remembered. */
const MOST_KEPT = 100_000;
/** So many are read after a restart. */
const MOST_READ = 5_000;

/** Blocks sessions and agents that policy denies too often, or that try what is critical. */
export class Thresholds {
  readonly #services: ThresholdServices;
  /** Null until the denials of the ledger are read. */
  #denials: { session_id: string; agent: string; at: number }[] | null = null;
  /** Conduct is judged one at a time, so that the threshold blocks once. */
  #last: Promise<void> = Promise.resolve();

  constructor(services: ThresholdServices) {
    this.#services = services;
  }

  /** Counts an action that is recorded, and blocks its session or its agent if a threshold is reached. */
  note(conduct: Conduct, limits: PolicyLimits): Promise<void> {
    const done = this.#last.then(() => this.#judge(conduct, limits));
    this.#last = done.catch(() => {});
    return done;
  }

  async #judge(conduct: Conduct, limits: PolicyLimits): Promise<void> {
    const { blocks } = this.#services;
    const { session_id, agent, action_id } = conduct;
    // The ledger has the action already, so the first read counts it.
    const isRead = this.#denials !== null;
    const denials = this.#denials ??= await this.#load();
    const at = this.#services.environment.now();
    if (conduct.is_denied && isRead) denials.push({ session_id, agent, at });
    if (denials.length > MOST_KEPT) denials.splice(0, denials.length - MOST_KEPT);
    if (await blocks.reasonOf(session_id, agent) !== null) return;
    const reached = await this.#reached(conduct, limits);
    if (reached === null) return;
    const { reason, of_agent } = reached;
    const block = { session_id, agent: of_agent ? agent : null, action_id, reason };
    await blocks.add({ ...block, seconds: limits.blockSeconds });
    this.#services.environment.log("warn", "gate has blocked a session or an agent", block);
  }

  /** The threshold that is reached, in words; null for none. */
  async #reached(
    { session_id, agent, is_denied, is_critical }: Conduct,
    limits: PolicyLimits,
  ): Promise<{ reason: string; of_agent: boolean } | null> {
    const { ledger, blocks, environment } = this.#services;
    const { denialWindowSeconds, maxDenialsPerSession, maxDenialsPerAgent } = limits;
    const window = environment.now() - denialWindowSeconds * 1000;
    const within = `within ${spanOf(denialWindowSeconds)}`;
    const sinceOf = async (of: Parameters<Blocks["lastAdded"]>[0]) => {
      const added = await blocks.lastAdded(of);
      return added === null ? window : Math.max(window, Date.parse(added));
    };
    const denials = this.#denials ?? [];
    const since = await sinceOf({ session_id });
    if (is_denied) {
      const own = denials.filter((one) => one.session_id === session_id && one.at > since).length;
      if (own >= maxDenialsPerSession) {
        const reason = `Policy has denied ${own} of its actions ${within}`;
        return { reason, of_agent: false };
      }
      const from = await sinceOf({ agent });
      const all = denials.filter((one) => one.agent === agent && one.at > from).length;
      if (all >= maxDenialsPerAgent) {
        const reason = `Policy has denied ${all} actions of the agent "${agent.slice(0, 100)}" ` +
          within;
        return { reason, of_agent: true };
      }
    }
    if (!is_critical) return null;
    const grave = await countCritical(ledger, session_id, new Date(since).toISOString());
    if (grave < limits.maxCriticalPerSession) return null;
    const reason = `It has submitted ${grave} actions of critical risk that nobody approved ` +
      within;
    return { reason, of_agent: false };
  }

  async #load() {
    const rows = await listDenials(this.#services.ledger, MOST_READ);
    return rows.toReversed().map(({ session_id, agent, created_at }) => ({
      ...{ session_id, agent },
      at: Date.parse(created_at),
    }));
  }
}

/** A time in the largest unit that says it exactly: "10 minutes", "90 seconds". */
function spanOf(seconds: number): string {
  const [size, unit] =
    [[86_400, "day"], [3600, "hour"], [60, "minute"]].find(([size]) =>
      seconds % Number(size) === 0
    ) ?? [1, "second"];
  const n = seconds / Number(size);
  return `${n} ${unit}${n === 1 ? "" : "s"}`;
}
