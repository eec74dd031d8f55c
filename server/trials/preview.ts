import { setTimeout as pause } from "node:timers/promises";
import { askedAction } from "../actions/granted.ts";
import { judge, type Judgement } from "../actions/judge.ts";
import { firstSince } from "../actions/list/store.ts";
import { loadAction, notPossible } from "../actions/record.ts";
import { type ActionServices, timestamp } from "../actions/services.ts";
import type { ActionRow } from "../actions/store.ts";
import type { GrantPattern } from "../policy/grant.ts";
import { accessOf, answers, compiledOf, type Meaning } from "../grants/answering.ts";
import { describeOffer, patternsFor } from "../grants/offers.ts";
import { checkRemember, type Rememberable } from "../grants/remember.ts";
import type { GrantOffer, GrantPreview, GrantPreviewInput } from "../grants/schema.ts";
import { listPast, type PastAction } from "./store.ts";

const DAYS_MS = 30 * 86_400_000;
const NEWEST = 5;
const PAGE = 100;
/** Altogether no more is spent; after the slice the thread is given to whoever else needs it. */
const MOST_MS = 5_000;
const SLICE_MS = 10;
const MOST_LOOKED_AT = 2_000;
/** Of all tools together: how far the search goes back. */
const MOST_ACTIONS = 100_000;

/** What could be remembered of a held action, and what that would have allowed in 30 days. */
export async function previewGrants(
  services: ActionServices,
  { action_id, pattern }: GrantPreviewInput,
): Promise<GrantPreview> {
  const row = await loadAction(services, action_id);
  if (row.status !== "pending" || !row.plan) {
    throw notPossible(row, "remember a decision on", `it is ${row.status}`);
  }
  const asked = askedAction(row, await judge(services, row.plan));
  const action: Rememberable = { ...row, ...asked };
  const since = timestamp(services.environment, -DAYS_MS);
  const { refused } = action.question;
  const { ended_at } = await services.sessions.get(row.session_id);
  const scopes: GrantPreview["scopes"] = ended_at === null ? ["session", "project"] : ["project"];
  const head = { action_id, refused, scopes, since };
  if (refused !== null) return { ...head, looked_at: 0, complete: true, offers: [] };
  if (pattern !== undefined) checkRemember(action, pattern);
  const patterns = [null, ...patternsFor(action), ...pattern === undefined ? [] : [pattern]];
  const offers = [...new Set(patterns)].map((one) => new Offer(action, one));
  const { looked_at, complete } = await lookBack(services, row, offers, since);
  return { ...head, looked_at, complete, offers: offers.map(({ offer }) => offer) };
}

/** One way to remember, which counts what it would have allowed. */
class Offer {
  readonly offer: GrantOffer;
  readonly #grant: Meaning;
  readonly #compiled: GrantPattern | null;

  constructor(action: Rememberable, pattern: string | null) {
    const says = describeOffer(action.access, pattern);
    this.offer = { pattern, says, matched: { count: 0, rejected: 0, newest: [] } };
    const { access, digest, scripts } = action;
    const questions = checkRemember(action, pattern);
    this.#grant = { pattern, access, digest, scripts: [...scripts], questions };
    this.#compiled = compiledOf(this.#grant);
  }

  /** Called with the newest action first. */
  look(past: PastAction, judgement: Judgement): void {
    if (!answers(this.#grant, askedAction(past, judgement), this.#compiled)) return;
    const { matched } = this.offer;
    matched.count++;
    if (past.status === "rejected") matched.rejected++;
    if (matched.newest.length === NEWEST) return;
    const { id, created_at, agent, tool, path, command, status } = past;
    matched.newest.push({ id, created_at, agent, tool, path, command, status });
  }
}

async function lookBack(
  services: ActionServices,
  row: ActionRow,
  offers: readonly Offer[],
  since: string,
): Promise<{ looked_at: number; complete: boolean }> {
  const { ledger } = services;
  const begun = performance.now();
  const first = await firstSince(ledger, since);
  const { tool } = row;
  const access = accessOf(row.plan!);
  const seen = new Map<string, Judgement>();
  const breathe = createPauses();
  let looked_at = 0;
  for (let before = row.seq; before > first; before -= PAGE) {
    await breathe();
    if (row.seq - before > MOST_ACTIONS || looked_at > MOST_LOOKED_AT) {
      return { looked_at, complete: false };
    }
    const from = Math.max(first, before - PAGE);
    const page = await listPast(ledger, { tool, access, since, from, before });
    for (const past of page.filter(({ plan }) => accessOf(plan) === access)) {
      if (performance.now() - begun > MOST_MS) return { looked_at, complete: false };
      const judgement = await judgePast(services, past, seen);
      for (const offer of offers) offer.look(past, judgement);
      looked_at++;
      await breathe();
    }
  }
  return { looked_at, complete: true };
}

/** Gives the thread away whenever it was kept for a slice of time. */
function createPauses(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < SLICE_MS) return;
    await pause(0);
    since = performance.now();
  };
}

/** Of a command that was asked for many times one judgement is enough. */
async function judgePast(
  services: ActionServices,
  { plan, command, cwd }: PastAction,
  seen: Map<string, Judgement>,
): Promise<Judgement> {
  if (command === null) return await judge(services, plan);
  const name = JSON.stringify([command, cwd]);
  const known = seen.get(name);
  if (known) return known;
  const judgement = await judge(services, plan);
  seen.set(name, judgement);
  return judgement;
}
