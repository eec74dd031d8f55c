import type { HttpRequest } from "../../execute/http.ts";
import { failed, inconclusive, type Verdict } from "../../execute/verdict.ts";
import type { RequestLedger } from "../ledger.ts";
import type { PlaybookStep } from "../playbook_schema.ts";
import type { StepRequest } from "./step_request.ts";

/** An answer is slow from here on; the steps ask the database to wait at least this long. */
const DELAYED_MS = 1_500;
/** How often the step and its control are sent in turns, once the step was slow. */
const TURNS = 2;

/**
 * Sends a request whose text may make the service work for long, in turns with a control request
 * without that text. Compares the quickest answers, because a busy machine may delay single ones.
 */
export async function runDelay(
  quick: NonNullable<PlaybookStep["quick"]>,
  { step, request, as }: StepRequest,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const durationOf = async (one: HttpRequest) => (await ledger.send(one, as)).exchange.duration_ms;
  let slow = await durationOf(request);
  let control = Infinity;
  for (let n = 0; n < TURNS && slow >= DELAYED_MS / 2; n++) {
    if (n === 0 && slow < DELAYED_MS) return null;
    control = Math.min(control, await durationOf({ ...request, ...quick }));
    slow = Math.min(slow, await durationOf(request));
  }
  // It was slow only once, so its text is not the cause.
  if (slow < DELAYED_MS / 2) return null;
  // A wait is added to the usual time; work is many times as much.
  const isSlow = quick.shows === undefined ? slow - control >= DELAYED_MS / 2 : slow > 4 * control;
  if (!isSlow) {
    return inconclusive(
      `Proves nothing: "${step.name}" took ${slow} ms, without it ${control} ms`,
    );
  }
  return failed(
    `"${step.name}" took ${slow} ms each time, the same without that ${control} ms: ` +
      (quick.shows ?? "the text reaches the query"),
  );
}
