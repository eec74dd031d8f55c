import { type HttpExchange, isSuccess } from "../../execute/http.ts";
import { failed, inconclusive, type Verdict } from "../../execute/verdict.ts";
import type { RequestLedger } from "../ledger.ts";
import type { StepRequest } from "./step_request.ts";

/** The statuses of a service that received too many requests, or that locked a login. */
const LIMITING_STATUSES = [403, 423, 429, 503];
/**
 * A service that delays later attempts limits them too. An answer counts as delayed if it takes at
 * least this long, and this many times as long as the quickest one.
 */
const SLOWED_MS = 1_000;
const SLOWED_TIMES = 4;
/** A delay lasts; a busy machine answers slowly only now and then. */
const SLOWED_IN_A_ROW = 4;

/** Repeats a request that the service refuses. Fails if the service limits none of the attempts. */
export async function runAttempts(
  attempts: number,
  { step, request, as }: StepRequest,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  const statuses: number[] = [];
  let quickest = Infinity;
  let slowed = 0;
  for (let n = 0; n < attempts; n++) {
    const { exchange } = await ledger.send(request, as);
    const { status, headers, error, duration_ms } = exchange;
    if (error !== null || status === null) return inconclusive(`Proves nothing: ${error}`);
    if (status >= 500 && status !== 503) {
      return inconclusive(`Proves nothing: "${step.name}" made the server fail with ${status}`);
    }
    const isLimit = LIMITING_STATUSES.includes(status) && n > 0;
    // Some services refuse with a 2xx. After any other status, nobody checked the password.
    const isRefusal = isSuccess(status)
      ? saysNo(exchange)
      : [401, 403, 404].includes(status) || (status === 400 && saysWrongSecret(exchange));
    if (!isRefusal && !isLimit) {
      return inconclusive(`Proves nothing: "${step.name}" was answered ${status}`);
    }
    const waits = headers.some(([name]) => name.toLowerCase() === "retry-after");
    slowed = duration_ms >= SLOWED_MS && duration_ms > SLOWED_TIMES * quickest ? slowed + 1 : 0;
    quickest = Math.min(quickest, duration_ms);
    if (waits || slowed >= SLOWED_IN_A_ROW || (isLimit && status !== statuses[0])) return null;
    statuses.push(status);
  }
  if (slowed > 1) return null;
  const seen = [...new Set(statuses)].join(", ");
  return failed(
    `${attempts} times "${step.name}" in a row: each was answered (${seen}), none limited`,
  );
}

/** True for a refusal in words, without a token or a cookie. */
function saysNo({ headers, body }: HttpExchange): boolean {
  const isCookie = headers.some(([name]) => name.toLowerCase() === "set-cookie");
  const isLogin = isCookie || /"[\w-]*token"|\beyJ/i.test(body);
  return !isLogin && /fail|error|invalid|incorrect|not correct|wrong|denied|unauthori/i.test(body);
}

/** True for a refusal of the secret itself, and not of its form. */
function saysWrongSecret({ body }: HttpExchange): boolean {
  return /\b(invalid|incorrect|wrong|expired)\b[^"]{0,30}\b(pin|code|otp|password|credentials)\b/i
    .test(body);
}
