import type { Verdict } from "../execute/verdict.ts";
import type { Scenario } from "../schema.ts";
import { checkVerdict } from "./check_verdict.ts";
import { Refusal, type RequestLedger } from "./ledger.ts";
import { type Player, PlayerError, type ToolCall, type ToolResult } from "./player.ts";
import { type SubmittedVerdict, type ToolName, TOOLS } from "./tools.ts";

export interface Budget {
  max_turns: number;
  /** Tokens of one scenario, Infinity where only the run's are bounded. */
  max_tokens: number;
  timeout_ms: number;
}

/** So many tools are used in one turn; the budget is looked at between turns. */
const CALLS = 50;

/** Lets a player carry a scenario out, and judges it by the tool's own ledger alone. */
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
        if (at >= CALLS || performance.now() >= deadline) {
          results.push({ id: call.id, ...refuse(`no more than ${CALLS} calls at once`) });
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
    player.end();
  }
}

/** A verdict ends the scenario; everything else is text for the player's next move. */
async function useTool(
  call: ToolCall,
  ledger: RequestLedger,
): Promise<{ verdict: SubmittedVerdict } | { content: string }> {
  if (!Object.hasOwn(TOOLS, call.name)) {
    return refuse(`there is no tool "${String(call.name).slice(0, 60)}"`);
  }
  const name = call.name as ToolName;
  const read = TOOLS[name].input.safeParse(call.arguments ?? undefined);
  if (!read.success) return refuse(`wrong arguments: ${read.error.issues[0]?.message}`);
  if (name === "submit_verdict") return { verdict: read.data as SubmittedVerdict };
  try {
    return { content: JSON.stringify(await act(name, read.data as Arguments, ledger)) };
  } catch (error) {
    if (error instanceof Refusal) return refuse(error.message);
    throw error;
  }
}

interface Arguments {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  as?: string;
  n: number;
  ms: number;
}

async function act(
  name: Exclude<ToolName, "submit_verdict">,
  given: Arguments,
  ledger: RequestLedger,
): Promise<unknown> {
  if (name === "get_ledger") return ledger.entries.map(({ body: _body, ...entry }) => entry);
  if (name === "wait") {
    return await new Promise((resolve) =>
      setTimeout(() => resolve({ waited: given.ms }), given.ms)
    );
  }
  const request = {
    method: given.method,
    path: given.path,
    headers: given.headers ?? {},
    body: given.body,
  };
  const as = given.as ?? null;
  const entry = name === "race"
    ? await ledger.race(request, given.n, as)
    : (await ledger.send(request, as)).entry;
  // What a target says is data: it is marked as such and never read as an instruction by us.
  return { ...entry, body: undefined, untrusted_body: entry.body };
}

function spentOf(player: Player, budget: Budget, turn: number, deadline: number): string | null {
  if (turn >= budget.max_turns) return `${budget.max_turns} turns`;
  if (player.tokens >= budget.max_tokens) return `${budget.max_tokens} tokens`;
  return performance.now() >= deadline ? `${budget.timeout_ms} ms` : null;
}

function refuse(why: string): { content: string } {
  return { content: JSON.stringify({ error: why }) };
}

function inconclusive(reason: string): Verdict {
  return { status: "inconclusive", reason };
}
