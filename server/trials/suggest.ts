import { firstSince } from "../actions/list/store.ts";
import type { ActionRow } from "../actions/store.ts";
import type { Openings } from "../actions/review/openings.ts";
import type { Config } from "../config/config.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Policies, PolicyEntry } from "../policy/schema.ts";
import { type Draft, draftCommands, draftPaths } from "./generalise.ts";
import { type Candidate, evaluateAgain, UnjudgedCounts } from "./recorded.ts";
import { forEachSlice } from "./replay.ts";
import type { PolicySuggestion, PolicySuggestions } from "./schema.ts";
import { endOf, listAsked } from "./store.ts";
import { toolOf } from "../actions/tools.ts";

const PAGE = 500;
/** The actions that one look passes over; most are of the policy alone. */
const WINDOW = 20_000;
/** Bounds of one request. */
const MOST_ACTIONS = 1_000_000;
const MOST_ASKED = 1_000;
const MOST_DRAFTS = 40;
const MOST_OFFERED = 12;
/** The fewest approvals that justify a rule. */
const ENOUGH = 3;

/** The parts of a project that suggestions need. */
interface Services {
  ledger: Ledger;
  config: Pick<Config, "candidate" | "view">;
  openings: Pick<Openings, "openedSince">;
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
  { ledger, config, openings }: Services,
  { since }: { since: string },
): Promise<PolicySuggestions> {
  const now = await config.candidate({});
  const opened = await openings.openedSince(since);
  const walled = new Set(opened.flatMap(({ actions }) => [...actions]));
  const history = await readHistory(ledger, since, { now, walled });
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
    sandbox: await openedOften(config, opened),
    unjudged: history.unjudged.list(),
    truncated: history.truncated,
  };
}

/** The walls that people opened often and that the policy keeps closed. */
async function openedOften(
  config: Services["config"],
  opened: Awaited<ReturnType<Openings["openedSince"]>>,
): Promise<PolicySuggestions["sandbox"]> {
  const { effective: { sandbox } } = await config.view();
  return opened.flatMap(({ wall, actions: { size } }) => {
    // No rule shows a hidden file.
    if (size < ENOUGH || wall.kind === "readable") return [];
    const [list, entry] = wall.kind === "host"
      ? ["hosts" as const, wall.host]
      : ["writable" as const, wall.path];
    return sandbox[list].includes(entry) ? [] : [{ list, entry, opened: size }];
  }).slice(0, MOST_OFFERED);
}

/** Leaves out the actions of `walled`: nobody approved them outside the sandbox. */
async function readHistory(
  ledger: Ledger,
  since: string,
  { now, walled }: { now: Candidate; walled: ReadonlySet<string> },
): Promise<History> {
  const unjudged = new UnjudgedCounts();
  const asked: ActionRow[] = [];
  const from = await firstSince(ledger, since);
  const end = await endOf(ledger);
  const first = Math.max(from, end - MOST_ACTIONS);
  let before = end;
  while (before > first && asked.length < MOST_ASKED) {
    const start = Math.max(first, before - WINDOW);
    const rows = await listAsked(ledger, { from: start, before, limit: PAGE });
    before = rows.length < PAGE ? start : rows.at(-1)!.seq;
    const recent = rows.filter((row) =>
      row.created_at >= since && wasAsked(row) && !walled.has(row.id)
    );
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
  return { ...halves, unjudged, truncated: before > from };
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
