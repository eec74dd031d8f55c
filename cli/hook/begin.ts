import { QuickCalls } from "../../server/runtime/quick_calls.ts";
import {
  readAnswer,
  requestBytes,
  SilentError,
  TOO_LATE,
  type WireAnswer,
} from "../../server/runtime/wire.ts";
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
/** The thread sleeps this long for an answer; a person who must decide takes longer. */
const AT_ONCE_MS = 100;
const PAUSE_MS = 10;

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
      const again = () => askRunning(request, { socket: place.socket, found });
      return { input, answer: () => receiveAnswer(socket, { calls, request, again }) };
    }
  }
  if (socket !== null) calls.close(socket);
  return await beginByEvents(host, env, input);
}

async function receiveAnswer(
  socket: number,
  { calls, request, again }: {
    calls: QuickCalls;
    request: HookRequest;
    again: () => Promise<WireAnswer | null>;
  },
): Promise<WireAnswer | null> {
  const until = Date.now() + request.timeout_ms;
  let bytes = Buffer.alloc(0);
  for (let wait_ms = AT_ONCE_MS;;) {
    const piece = calls.receive(socket, wait_ms);
    if (piece === null) {
      if (Date.now() >= until) throw new SilentError();
      wait_ms = 0;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      continue;
    }
    bytes = Buffer.concat([bytes, piece]);
    const answer = readAnswer(bytes, piece.length === 0);
    if (answer === null) continue;
    calls.close(socket);
    return answer.status === TOO_LATE ? await again() : answer;
  }
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
