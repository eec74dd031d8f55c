import { setTimeout as pause } from "node:timers/promises";
import { type ActionServices, loadAction, notPossible, timestamp } from "../actions/context.ts";
import { firstSince } from "../actions/list/store.ts";
import { runsOwnCode } from "../actions/own_code.ts";
import type { ActionRow } from "../actions/store.ts";
import { type ActionEvaluation, evaluateAction } from "../actions/submit/evaluate.ts";
import { accessOf, grantSubject } from "../actions/submit/grant_use.ts";
import type { GrantPattern } from "../policy/grant.ts";
import { compiledOf, grantAllows, type GrantTerms } from "../grants/matching.ts";
import { describeOffer, patternsFor } from "../grants/offers.ts";
import { checkRemember, type Rememberable } from "../grants/remember.ts";
import type { GrantOffer, GrantPreview, GrantPreviewInput } from "../grants/schema.ts";
import { listPast, type PastAction } from "./store.ts";

const DAYS_MS = 30 * 86_400_000;
const NEWEST = 5;
const PAGE = 100;
/** The most time for one preview. After each slice it yields to the event loop. */
const MOST_MS = 5_000;
const SLICE_MS = 10;
const MOST_LOOKED_AT = 2_000;
/** How many actions of all tools the search goes back. */
const MOST_ACTIONS = 100_000;

/** The grants that an approval could make, with the actions of 30 days that each would have allowed. */
export async function previewGrants(
  services: ActionServices,
  { action_id, pattern }: GrantPreviewInput,
): Promise<GrantPreview> {
  const row = await loadAction(services, action_id);
  if (row.status !== "pending" || !row.plan) {
    throw notPossible(row, "remember an approval of", `it is ${row.status}`);
  }
  const subject = grantSubject(row, await evaluateAction(services, row.plan));
  const action: Rememberable = { ...row, ...subject };
  const since = timestamp(services.environment, -DAYS_MS);
  const { refused } = action.question;
  const { ended_at } = await services.sessions.get(row.session_id);
  const scopes: GrantPreview["scopes"] = ended_at === null ? ["session", "project"] : ["project"];
  const head = { action_id, refused, scopes, since };
  if (refused !== null) return { ...head, looked_at: 0, complete: true, offers: [] };
  if (pattern !== undefined) checkRemember(action, pattern);
  const patterns = [null, ...patternsFor(action), ...pattern === undefined ? [] : [pattern]];
  const runs_own_code = runsOwnCode({
    scripts: action.scripts,
    programs: row.plan.programs ?? null,
    commands: action.question.evaluation.units.map(({ argv }) => argv),
  });
  const offers = [...new Set(patterns)].map((one) => new Offer(action, one, { runs_own_code }));
  const { looked_at, complete } = await lookBack(services, row, offers, since);
  return { ...head, looked_at, complete, offers: offers.map(({ offer }) => offer) };
}

/** One possible grant. It counts the actions that it would have allowed. */
class Offer {
  readonly offer: GrantOffer;
  readonly #grant: GrantTerms;
  readonly #compiled: GrantPattern | null;

  constructor(
    action: Rememberable,
    pattern: string | null,
    options: { runs_own_code: boolean },
  ) {
    const says = describeOffer(action, pattern, options);
    this.offer = { pattern, says, matched: { count: 0, rejected: 0, newest: [] } };
    const { access, digest, scripts } = action;
    const questions = checkRemember(action, pattern);
    this.#grant = { pattern, access, digest, scripts: [...scripts], questions };
    this.#compiled = compiledOf(this.#grant);
  }

  /** Tests an earlier action. The caller passes the newest first. */
  test(past: PastAction, evaluation: ActionEvaluation): void {
    if (!grantAllows(this.#grant, grantSubject(past, evaluation), this.#compiled)) return;
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
  const started = performance.now();
  const first = await firstSince(ledger, since);
  const { tool } = row;
  const access = accessOf(row.plan!);
  const seen = new Map<string, ActionEvaluation>();
  const yieldTurn = createPauses();
  let looked_at = 0;
  for (let before = row.seq; before > first; before -= PAGE) {
    await yieldTurn();
    if (row.seq - before > MOST_ACTIONS || looked_at > MOST_LOOKED_AT) {
      return { looked_at, complete: false };
    }
    const from = Math.max(first, before - PAGE);
    const page = await listPast(ledger, { tool, access, since, from, before });
    for (const past of page.filter(({ plan }) => accessOf(plan) === access)) {
      if (performance.now() - started > MOST_MS) return { looked_at, complete: false };
      const evaluation = await evaluatePast(services, past, seen);
      for (const offer of offers) offer.test(past, evaluation);
      looked_at++;
      await yieldTurn();
    }
  }
  return { looked_at, complete: true };
}

/** Yields to the event loop after each time slice. */
function createPauses(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < SLICE_MS) return;
    await pause(0);
    since = performance.now();
  };
}

/** Equal commands are evaluated once. */
async function evaluatePast(
  services: ActionServices,
  { plan, command, cwd }: PastAction,
  seen: Map<string, ActionEvaluation>,
): Promise<ActionEvaluation> {
  if (command === null) return await evaluateAction(services, plan);
  const name = JSON.stringify([command, cwd]);
  const known = seen.get(name);
  if (known) return known;
  const evaluation = await evaluateAction(services, plan);
  seen.set(name, evaluation);
  return evaluation;
}
