import { setTimeout as sleep } from "node:timers/promises";
import { inconclusive, type Verdict } from "../execute/verdict.ts";
import type { Scenario } from "../schema.ts";
import { type LedgerEntry, NotSentError, type RequestLedger } from "./ledger.ts";
import { type Player, PlayerError, type ToolCall, type ToolResult } from "./player.ts";
import { type Arguments, type SubmittedVerdict, type ToolName, TOOLS } from "./tools.ts";

/** The limits for one scenario. */
export interface Budget {
  max_turns: number;
  /** The most tokens for one scenario. */
  max_tokens: number;
  timeout_ms: number;
}

/** The most tool calls in one turn. The budget is checked between turns. */
const MOST_CALLS = 50;

/** Lets a player run a scenario, and judges it by the tool's own ledger alone. */
export async function drive(
  scenario: Scenario,
  player: Player,
  ledger: RequestLedger,
  budget: Budget,
  onCalls: (calls: ToolCall[]) => void,
): Promise<Verdict> {
  const deadline = performance.now() + budget.timeout_ms;
  try {
    let calls = await player.begin(scenario);
    for (let turn = 1;; turn++) {
      onCalls(calls);
      const results: ToolResult[] = [];
      for (const [at, call] of calls.entries()) {
        if (at >= MOST_CALLS || performance.now() >= deadline) {
          results.push({ id: call.id, ...refusal(`no more than ${MOST_CALLS} calls at once`) });
          continue;
        }
        const done = await useTool(call, ledger);
        if ("verdict" in done) return checkVerdict(done.verdict, ledger.entries);
        results.push({ id: call.id, content: done.content });
      }
      const spent = spentOf(player, budget, turn, deadline);
      if (spent) return inconclusive(`The budget is used up: ${spent}`);
      if (calls.length === 0) return inconclusive("The driver ended without a verdict");
      calls = await player.next(results);
    }
  } catch (error) {
    if (error instanceof PlayerError) return inconclusive(`The driver failed: ${error.message}`);
    throw error;
  } finally {
    player.end?.();
  }
}

/** Returns the verdict, which ends the scenario, or text for the player's next move. */
async function useTool(
  call: ToolCall,
  ledger: RequestLedger,
): Promise<{ verdict: SubmittedVerdict } | { content: string }> {
  if (!Object.hasOwn(TOOLS, call.name)) {
    return refusal(`there is no tool "${String(call.name).slice(0, 60)}"`);
  }
  const name = call.name as ToolName;
  const read = TOOLS[name].input.safeParse(call.arguments ?? undefined);
  if (!read.success) return refusal(`wrong arguments: ${read.error.issues[0]?.message}`);
  if (name === "submit_verdict") return { verdict: read.data as SubmittedVerdict };
  try {
    return { content: JSON.stringify(await carryOut(name, read.data as Arguments, ledger)) };
  } catch (error) {
    if (error instanceof NotSentError) return refusal(error.message);
    throw error;
  }
}

/** Carries out a tool call that does not end the scenario. Returns its result for the player. */
async function carryOut(
  name: Exclude<ToolName, "submit_verdict">,
  given: Arguments,
  ledger: RequestLedger,
): Promise<unknown> {
  if (name === "get_ledger") return ledger.entries.map(({ body: _body, ...entry }) => entry);
  if (name === "wait") {
    return await sleep(given.ms, { waited: given.ms });
  }
  const { method, path, headers = {}, body, as = null } = given;
  const request = { method, path, headers, body };
  const entry = name === "race"
    ? await ledger.race(request, given.n, as)
    : (await ledger.send(request, as)).entry;
  // The answer of a target is data, so the player sees it marked as untrusted.
  return { ...entry, body: undefined, untrusted_body: entry.body };
}

/**
 * Checks each claim of a submitted verdict against the tool's own ledger. A verdict without evidence
 * or with a false claim is inconclusive: never a pass, never a failure.
 */
function checkVerdict(
  submitted: SubmittedVerdict,
  entries: readonly LedgerEntry[],
): Verdict {
  const problem = problemOf(submitted, entries);
  if (problem) return inconclusive(`Not accepted: ${problem}`);
  if (submitted.verdict === "inconclusive") {
    return inconclusive(submitted.reason || "The driver could not tell");
  }
  const status = submitted.verdict === "pass" ? "passed" : "failed";
  return { status, reason: `${submitted.reason} (${submitted.evidence.join(", ")})` };
}

function problemOf(submitted: SubmittedVerdict, entries: readonly LedgerEntry[]): string | null {
  if (submitted.verdict === "inconclusive") return null;
  if (entries.length === 0) return "no request was sent";
  if (submitted.evidence.length === 0 || submitted.claims.length === 0) {
    return "it cites no evidence";
  }
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const unknown = [...submitted.evidence, ...submitted.claims.map(({ id }) => id)]
    .find((id) => !byId.has(id));
  if (unknown !== undefined) return `it cites ${unknown.slice(0, 20)}, which is not in the ledger`;
  const bare = submitted.evidence.find((id) => !submitted.claims.some((one) => one.id === id));
  if (bare !== undefined) return `it cites ${bare.slice(0, 20)} and claims nothing about it`;
  for (const claim of submitted.claims) {
    const wrong = wrongClaim(claim, byId.get(claim.id)!);
    if (wrong) return wrong;
  }
  if (submitted.verdict === "pass") {
    const crash = entries.find(({ status, statuses }) =>
      [status, ...(statuses ?? [])].some((one) => one !== null && one >= 500)
    );
    if (crash) return `it says pass, but ${crash.id} was answered with a server error`;
    // A player that picks among the answers could leave out the one that shows the failure.
    const left = entries.find(({ id }) => !submitted.evidence.includes(id));
    if (left) return `it says pass, but leaves out ${left.id}`;
  }
  return null;
}

function wrongClaim(
  claim: SubmittedVerdict["claims"][number],
  { id, status, statuses, body }: LedgerEntry,
): string | null {
  if (claim.status === undefined && !claim.body_contains?.trim()) {
    return `its claim about ${id} is empty`;
  }
  const seen = statuses ?? [status];
  if (claim.status !== undefined && !seen.includes(claim.status)) {
    return `it claims ${claim.status} for ${id}, which was answered ${seen.join(", ")}`;
  }
  if (claim.body_contains !== undefined && !body.includes(claim.body_contains)) {
    return `it claims a text in the answer to ${id} that is not there`;
  }
  return null;
}

function spentOf(player: Player, budget: Budget, turn: number, deadline: number): string | null {
  if (turn >= budget.max_turns) return `${budget.max_turns} turns`;
  if (player.tokens >= budget.max_tokens) return `${budget.max_tokens} tokens`;
  return performance.now() >= deadline ? `${budget.timeout_ms} ms` : null;
}

function refusal(why: string): { content: string } {
  return { content: JSON.stringify({ error: why }) };
}
