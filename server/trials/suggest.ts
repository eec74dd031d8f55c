import { firstSince } from "../actions/list/store.ts";
import type { ActionRow } from "../actions/store.ts";
import type { Config } from "../config/config.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Policies, PolicyEntry } from "../policy/schema.ts";
import { type Draft, draftCommands, draftPaths } from "./generalise.ts";
import { type Candidate, evaluateAgain, UnjudgedCounts } from "./recorded.ts";
import { forEachSlice } from "./replay.ts";
import type { PolicySuggestion, PolicySuggestions } from "./schema.ts";
import { listRecorded } from "./store.ts";
import { toolOf } from "../actions/tools.ts";

const PAGE = 500;
/** Bounds of one request. */
const MOST_ROWS = 20_000;
const MOST_ASKED = 1_000;
const MOST_DRAFTS = 40;
const MOST_OFFERED = 12;
/** The fewest approvals that justify a rule. */
const ENOUGH = 3;

/** The parts of a project that suggestions need. */
interface Services {
  ledger: Ledger;
  config: Pick<Config, "candidate" | "view">;
}

/** Actions that a person was asked about and that the present policy still asks about. */
interface History {
  older: ActionRow[];
  newer: ActionRow[];
  unjudged: UnjudgedCounts;
  truncated: boolean;
}

/**
 * Suggests allow rules for actions that people always approved. It learns them from the older half of
 * the questions and scores them on the newer half. It rejects every rule that would have allowed an
 * action that nobody approved.
 */
export async function suggestRules(
  { ledger, config }: Services,
  { since }: { since: string },
): Promise<PolicySuggestions> {
  const now = await config.candidate({});
  const history = await readHistory(ledger, since, now);
  const { older, newer } = history;
  const all = [...older, ...newer];
  const search = new Search(config, all);
  const drafts = draftsOf(older);
  for (const draft of drafts) {
    if (search.offered.length === MOST_OFFERED) break;
    await search.tryOut(draft, history);
  }
  const approved = all.filter(isApproved).length;
  return {
    asked: all.length,
    approved,
    rejected: all.filter(({ status }) => status === "rejected").length,
    older: older.length,
    newer: newer.length,
    prompts_saved: search.savedIn(newer),
    suggestions: search.offered,
    turned_down: search.turnedDown,
    unjudged: history.unjudged.list(),
    truncated: history.truncated,
  };
}

async function readHistory(ledger: Ledger, since: string, now: Candidate): Promise<History> {
  const unjudged = new UnjudgedCounts();
  const asked: ActionRow[] = [];
  const from = await firstSince(ledger, since);
  let before = Number.MAX_SAFE_INTEGER;
  let read = 0;
  let isOver = false;
  while (!isOver && read < MOST_ROWS && asked.length < MOST_ASKED) {
    const rows = await listRecorded(ledger, { from, before, limit: PAGE });
    read += rows.length;
    isOver = rows.length < PAGE;
    before = rows.at(-1)?.seq ?? 0;
    const recent = rows.filter((row) => row.created_at >= since && wasAsked(row));
    await forEachSlice(recent, async (row) => {
      const again = await evaluateAgain(row, now);
      if ("unjudged" in again) unjudged.add(again.unjudged, row.id);
      // An allowed action needs no rule, and no rule can allow a denied one.
      else if (again.answer.decision.effect === "ask") asked.push(row);
    });
  }
  asked.reverse();
  const middle = Math.ceil(asked.length / 2);
  const halves = { older: asked.slice(0, middle), newer: asked.slice(middle) };
  return { ...halves, unjudged, truncated: !isOver };
}

/** Whether a person was asked and the action is no longer pending. */
function wasAsked({ decision, status, tool }: ActionRow): boolean {
  return decision.effect === "ask" && status !== "pending" && !toolOf(tool).undoes;
}

/** Whether a person approved it; an action rolled back later does not count. */
function isApproved({ status, decided_by }: ActionRow): boolean {
  return status === "approved" && decided_by !== "policy";
}

/** Rules worth trying: most approvals first, then the narrowest. */
function draftsOf(rows: readonly ActionRow[]): Draft[] {
  const counts = new Map<string, { draft: Draft; ids: number; whats: Set<string> }>();
  for (const row of rows.filter(isApproved)) {
    for (const draft of draftsFor(row)) {
      const key = `${draft.list} ${draft.pattern}`;
      const known = counts.get(key) ?? { draft, ids: 0, whats: new Set<string>() };
      known.ids++;
      known.whats.add(row.command ?? row.path ?? "");
      counts.set(key, known);
    }
  }
  return [...counts.values()]
    // Approvals of a single file justify no rule for its folder.
    .filter(({ draft, ids, whats }) =>
      ids >= ENOUGH && (whats.size > 1 || !draft.pattern.includes("*"))
    )
    // The sort is stable, so the narrowest of equals stays first.
    .sort((a, b) => b.ids - a.ids)
    .map(({ draft }) => draft).slice(0, MOST_DRAFTS);
}

function draftsFor(row: ActionRow): Draft[] {
  if (row.command !== null) {
    const isWhole = row.analysis?.unresolved.length === 0 && row.analysis.deletes.length === 0;
    return isWhole ? draftCommands(row.analysis!.commands) : [];
  }
  const writes = row.plan?.accesses.every(({ access }) => access !== "delete") ?? false;
  return row.path !== null && writes ? draftPaths(row.path) : [];
}

/** Tries rules on the history, each together with the rules offered so far. */
class Search {
  readonly offered: PolicySuggestion[] = [];
  readonly turnedDown: PolicySuggestions["turned_down"] = [];
  readonly #spared = new Set<string>();
  readonly #config: Services["config"];
  readonly #all: readonly ActionRow[];

  constructor(config: Services["config"], all: readonly ActionRow[]) {
    this.#config = config;
    this.#all = all;
  }

  savedIn(rows: readonly ActionRow[]): number {
    return rows.filter(({ id }) => this.#spared.has(id)).length;
  }

  async tryOut(draft: Draft, { older, newer }: History): Promise<void> {
    const spared = await this.#spares(draft);
    const isIn = (row: ActionRow) => spared.has(row.id) && !this.#spared.has(row.id);
    const let_through = this.#all.filter((row) => spared.has(row.id) && !isApproved(row));
    const learned = older.filter(isIn).length;
    const saved = newer.filter(isIn).length;
    if (let_through.length > 0) {
      const [first] = let_through;
      const why = `it allows ${let_through.length} actions that nobody approved (${first!.id})`;
      return this.#turnDown(draft, why);
    }
    if (learned < ENOUGH) return;
    if (saved === 0) return this.#turnDown(draft, "it saves no prompt in the newer half");
    for (const id of spared) this.#spared.add(id);
    this.offered.push({
      list: draft.list,
      entry: { pattern: draft.pattern, reason: reasonOf(learned + saved) },
      learned_from: learned,
      prompts_saved: saved,
      rejected_let_through: 0,
      examples: this.#all.filter(({ id }) => spared.has(id)).slice(-3).map(({ id }) => id),
    });
  }

  #turnDown({ pattern }: Draft, why: string): void {
    if (this.turnedDown.length < MOST_DRAFTS) this.turnedDown.push({ pattern, why });
  }

  /** The actions that this rule and the offered ones would have allowed without asking. */
  async #spares(draft: Draft): Promise<Set<string>> {
    const { config } = await this.#config.view();
    const policies: Policies = { ...config.policies };
    const rules = [...this.offered, { list: draft.list, entry: { pattern: draft.pattern } }];
    for (const { list, entry } of rules) {
      policies[list] = [...policies[list] ?? [], entry as PolicyEntry];
    }
    const candidate = await this.#config.candidate({ policies });
    const spared = new Set<string>();
    await forEachSlice(this.#all, async (row) => {
      const again = await evaluateAgain(row, candidate);
      if ("answer" in again && again.answer.decision.effect === "allow") spared.add(row.id);
    });
    return spared;
  }
}

function reasonOf(approvals: number): string {
  return `A person approved it ${approvals} times and never rejected it`;
}
