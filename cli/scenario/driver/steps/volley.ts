import { isSuccess } from "../../execute/http.ts";
import {
  failed,
  howMany,
  inconclusive,
  judgeOneMore,
  type Verdict,
} from "../../execute/verdict.ts";
import type { LedgerEntry, RequestLedger } from "../ledger.ts";
import type { PlaybookStep } from "../playbook_schema.ts";
import { type StepRequest, wentWrong } from "./step_request.ts";

/**
 * Sends a volley, of which one request may succeed. When several did, sends one more: a request that
 * may be repeated shows no race.
 */
export async function runVolley(
  { step, request, as }: StepRequest,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const entry = await ledger.race(request, step.race!, as);
  const verdict = judgeVolley(step, entry);
  const won = entry.statuses!.filter(isSuccess).length;
  if (step.needs_winner && won === 0 && verdict === null) {
    return inconclusive(`Proves nothing: none of the ${step.race} succeeded`);
  }
  if (step.same_answer || won < 2) return verdict;
  const { exchange } = await ledger.send(request, as);
  return judgeOneMore(exchange.status, won, step.race!) ?? verdict;
}

/** A volley fails when more than one of its requests wins. */
function judgeVolley(step: PlaybookStep, entry: LedgerEntry): Verdict | null {
  const statuses = entry.statuses!;
  const winners = statuses.filter(isSuccess);
  const what = `"${step.name}" (${entry.id})`;
  const answers = entry.race?.winning_answers ?? 0;
  if (step.same_answer ? answers > 1 : winners.length > 1) {
    const how = step.same_answer ? `, with ${answers} different answers` : "";
    return failed(
      `${what}: ${howMany(winners.length, step.race!)} succeeded; only one should${how}`,
    );
  }
  const crash = statuses.find((status) => status !== null && status >= 500);
  if (crash) return failed(`${what} made the server fail with ${crash}`);
  return entry.error === null ? null : wentWrong(step, `${what}: ${entry.error}`);
}
