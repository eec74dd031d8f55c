import { basename } from "node:path";
import type { Ledger } from "../../db/ledger.ts";
import type { Environment } from "../../environment.ts";
import { createGrowingCache } from "../../growing_cache.ts";
import type { RiskSettings } from "../../policy/risk_weights.ts";
import type { Analysis, Effect } from "../../policy/schema.ts";
import type { Circumstances } from "../../risk/facts.ts";
import { secrecyOf } from "../../risk/paths.ts";
import type { Plan } from "../plan.ts";
import { isGateTool } from "../tools.ts";
import { listRecent, type Recent } from "./history_store.ts";

/** The actions that are read after a start. */
const MOST_READ = 500;
const MOST_SESSIONS = 1_000;
/** A project with fewer actions has seen nothing yet, so nothing is new in it. */
const ENOUGH = 20;
const MINUTE_MS = 60_000;
/** More actions in a minute than an agent at work submits. */
const BURST = 90;

/** One session, as far as risk depends on its past. */
interface Past {
  secret_read: string | null;
  /** The times of its last actions. */
  times: number[];
}

/** Remembers what the sessions and the project have done before. The ledger has it after a restart. */
export class History {
  readonly #ledger: Ledger;
  readonly #environment: Pick<Environment, "now">;
  readonly #sessions = createGrowingCache<Past>(MOST_SESSIONS);
  readonly #seen = new Set<string>();
  #count = 0;
  #ready = false;
  #loading: Promise<void> | null = null;

  constructor(ledger: Ledger, environment: Pick<Environment, "now">) {
    this.#ledger = ledger;
    this.#environment = environment;
  }

  /** The circumstances of an action, which then belongs to the past of its session. */
  async meet(
    session_id: string,
    { plan, analysis, effect, settings }: {
      plan: Pick<Plan, "tool" | "accesses" | "command">;
      analysis: Analysis | null;
      effect: Effect;
      settings: RiskSettings;
    },
  ): Promise<Circumstances> {
    if (!this.#ready) await (this.#loading ??= this.#load());
    const now = this.#environment.now();
    const past = this.#pastOf(session_id);
    const kinds = kindsOf(plan.tool, analysis);
    const unseen = kinds.find((kind) => !this.#seen.has(kind));
    const { secret_read } = past;
    if (past.times.length > BURST) past.times.shift();
    past.times.push(now);
    const within = past.times.filter((at) => at > now - MINUTE_MS).length;
    const circumstances = {
      secret_read,
      first_time: unseen !== undefined && this.#count >= ENOUGH ? unseen : null,
      outside_hours: isOutside(now, settings.workingHours),
      burst: within > BURST ? within : null,
    };
    if (effect !== "deny") {
      const reads = [
        ...plan.accesses.filter(({ access }) => access === "read").map(({ target }) =>
          target.shown
        ),
        ...analysis?.reads ?? [],
      ];
      this.#note(past, kinds, reads);
    }
    return circumstances;
  }

  #note(past: Past, kinds: readonly string[], reads: readonly string[]): void {
    this.#count++;
    for (const kind of kinds) this.#seen.add(kind);
    past.secret_read ??= reads.find((path) => secrecyOf(path) !== null) ?? null;
  }

  #pastOf(session_id: string): Past {
    const past = this.#sessions.get(session_id) ?? { secret_read: null, times: [] };
    this.#sessions.set(session_id, past);
    return past;
  }

  async #load(): Promise<void> {
    const rows = await listRecent(this.#ledger, MOST_READ);
    for (const row of rows.toReversed()) {
      const past = this.#pastOf(row.session_id);
      past.times.push(Date.parse(row.created_at));
      this.#note(past, kindsOf(row.tool, row.analysis), readsOf(row));
    }
    this.#ready = true;
  }
}

function readsOf({ analysis, reads }: Recent): string[] {
  return [...reads, ...analysis?.reads ?? []];
}

/** The programs and foreign tools of an action, which may be new in a project. */
function kindsOf(tool: string, analysis: Analysis | null): string[] {
  const programs = (analysis?.commands ?? []).slice(0, 20)
    .map(([program = ""]) => basename(program).slice(0, 100));
  const tools = analysis === null && !isGateTool(tool) ? [tool] : [];
  return [...programs, ...tools].filter((name) => name !== "").map((name) => `"${name}"`);
}

function isOutside(now: number, hours: RiskSettings["workingHours"]): boolean {
  if (hours === null) return false;
  const { from, to, days } = hours;
  const local = new Date(now);
  if (days !== undefined && !days.includes(local.getDay())) return true;
  const hour = local.getHours();
  return from < to ? hour < from || hour >= to : hour < from && hour >= to;
}
