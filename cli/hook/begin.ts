import type { WireAnswer } from "../../server/runtime/wire.ts";
import { beginEarly, type Early } from "../daemon/early.ts";
import { DEADLINES } from "./deadlines.ts";
import { readInput } from "./input.ts";
import { askRunning, hookRequest } from "./request.ts";

/** A hook whose request is under way. The code that judges input and answer loads meanwhile. */
export interface BegunHook {
  /** The hook's input. */
  input: Promise<string>;
  /** The daemon's answer to the first request; null if no daemon can be asked. */
  answer: Promise<WireAnswer | null>;
  /** Resolves when the request is sent, or when the host is slow to give the input. */
  loadMore: Promise<unknown>;
}

type Env = Record<string, string | undefined>;

/** After this time the other code loads while the host's input is awaited. */
const PATIENCE_MS = 5;

/** Begins to ask the daemon; null if the environment alone does not name its socket. */
export function beginHook(host: string, env: Env): BegunHook | null {
  const early = beginEarly(env, "agent");
  if (early === null) return null;
  const input = readInput();
  const ready = Promise.all([input, early.token, early.wire.opened]);
  const answer = ready.then(([text]) => askFirst(host, text, { early, env }));
  // Both are awaited only after the other code has loaded.
  for (const promise of [input, answer]) promise.catch(() => {});
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  return { input, answer, loadMore: Promise.race([ready.catch(() => {}), patience]) };
}

async function askFirst(
  host: string,
  text: string,
  { early, env }: { early: Early; env: Env },
): Promise<WireAnswer | null> {
  const { slice: wait_ms, answer } = DEADLINES;
  const request = hookRequest(host, text, { env, wait_ms, timeout_ms: wait_ms + answer });
  return await askRunning(
    request,
    { socket: early.socket, found: await early.token },
    early.wire,
  );
}
