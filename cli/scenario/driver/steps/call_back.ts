import { type HttpExchange, isSuccess } from "../../execute/http.ts";
import { failed, inconclusive, type Verdict } from "../../execute/verdict.ts";
import type { RequestLedger } from "../ledger.ts";
import { listenForCalls } from "../listener.ts";
import type { StepRequest } from "./step_request.ts";

/** How long the target may still call after its answer. */
const CALL_MS = 1_000;

/** Sends an address of this machine. Fails if the target calls that address. */
export async function runCall(
  usual: HttpExchange | undefined,
  { step, request, as }: StepRequest,
  ledger: RequestLedger,
): Promise<Verdict | null> {
  if (!ledger.isLocal) {
    return inconclusive("Cannot tell: the target is on another machine, and cannot call this one");
  }
  const listener = await listenForCalls();
  const insert = (text: string) =>
    text.replaceAll(/\{\{listener\}\}|%7B%7Blistener%7D%7D/g, listener.url);
  try {
    const { body, path } = request;
    const call = { ...request, path: insert(path), ...(body ? { body: insert(body) } : {}) };
    const { entry, exchange } = await ledger.send(call, as);
    const { error, status } = exchange;
    if (await listener.isCalled(CALL_MS)) {
      return failed(
        `"${step.name}" (${entry.id}) made the server call an address of its own machine`,
      );
    }
    if (error !== null) return inconclusive(`Proves nothing: ${error}`);
    const isRefused = status! < 500 && isSuccess(usual?.status);
    if (isSuccess(status) || isRefused) return null;
    return inconclusive(`Proves nothing: "${step.name}" was answered ${status}`);
  } finally {
    await listener.close();
  }
}
