import { receiveAnswer } from "../../server/runtime/quick_answer.ts";
import { QuickCalls } from "../../server/runtime/quick_calls.ts";
import { requestBytes, TOO_LATE, type WireAnswer } from "../../server/runtime/wire.ts";
import { beginEarly, type Early, type EarlyPlace, earlyPlace } from "../daemon/early.ts";
import { DEADLINES } from "./deadlines.ts";
import { MAX_INPUT, readInput, textOf } from "./input.ts";
import { askRunning, type HookRequest, hookRequest } from "./request.ts";

/** A hook whose request is under way. The code that judges input and answer loads meanwhile. */
export interface BegunHook {
  /** The hook's input. */
  input: Promise<string>;
  /** Waits for the daemon's answer to the first request; null if no daemon can be asked. */
  answer: () => Promise<WireAnswer | null>;
}

type Env = Record<string, string | undefined>;

/** After a pause this long in the host's input, the other code loads while it is awaited. */
const PATIENCE_MS = 5;

/**
 * Begins to ask the daemon. Resolves when the request is sent, or when the host is slow to give the
 * input; with null if the environment alone does not name the daemon's socket.
 */
export async function beginHook(host: string, env: Env): Promise<BegunHook | null> {
  const place = earlyPlace(env);
  if (place === null) return null;
  const calls = await QuickCalls.open();
  return calls
    ? await beginByCalls(host, env, { place, calls })
    : await beginByEvents(host, env, readInput());
}

async function beginByCalls(
  host: string,
  env: Env,
  { place, calls }: { place: EarlyPlace; calls: QuickCalls },
): Promise<BegunHook | null> {
  const socket = calls.connect(place.socket);
  const found = calls.readToken(place.tokens, "agent");
  const { pieces, is_whole } = calls.readInput({ most: MAX_INPUT, patience_ms: PATIENCE_MS });
  const input = is_whole ? Promise.resolve(pieces).then(textOf) : readInput(pieces);
  input.catch(() => {}); // it is awaited only after the other code has loaded
  const text = is_whole ? await input.catch(() => null) : null;
  if (socket !== null && "token" in found && text !== null) {
    const request = firstRequest(host, text, env);
    if (calls.send(socket, requestBytes({ ...request, token: found.token }))) {
      const answer = async () => {
        const first = await receiveAnswer(calls, socket, request.timeout_ms);
        if (first.status !== TOO_LATE) return first;
        return await askRunning(request, { socket: place.socket, found });
      };
      return { input, answer };
    }
  }
  if (socket !== null) calls.close(socket);
  return await beginByEvents(host, env, input);
}

/** The same through the event loop, where system calls cannot be made or something is not ready. */
async function beginByEvents(
  host: string,
  env: Env,
  input: Promise<string>,
): Promise<BegunHook | null> {
  const early = beginEarly(env, "agent");
  if (early === null) return null;
  const ready = Promise.all([input, early.token, early.wire.opened]);
  const answer = ready.then(([text]) => askFirst(host, text, { early, env }));
  // Both are awaited only after the other code has loaded.
  for (const promise of [input, answer]) promise.catch(() => {});
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  await Promise.race([ready.catch(() => {}), patience]);
  return { input, answer: () => answer };
}

async function askFirst(
  host: string,
  text: string,
  { early, env }: { early: Early; env: Env },
): Promise<WireAnswer | null> {
  return await askRunning(
    firstRequest(host, text, env),
    { socket: early.socket, found: await early.token },
    early.wire,
  );
}

function firstRequest(host: string, text: string, env: Env): HookRequest {
  const { slice: wait_ms, answer } = DEADLINES;
  return hookRequest(host, text, { env, wait_ms, timeout_ms: wait_ms + answer });
}
