import { QuickCalls } from "../../server/runtime/quick_calls.ts";
import { receiveAnswer } from "../../server/runtime/quick_answer.ts";
import { ask, requestBytes } from "../../server/runtime/wire.ts";
import type { Io } from "../io.ts";
import { beginEarly, type EarlyPlace, earlyPlace } from "./early.ts";

interface PromptIo extends Pick<Io, "env" | "cwd"> {
  /** The process has just started, and ends afterwards: the fewest modules and threads are best. */
  is_alone?: boolean;
}

/** The part of an answer that counts. */
interface Answer {
  status: number;
  body: string;
}

const DEADLINE_MS = 1_000;
const COUNT = "/api/global/approvals/count";
const QUESTION = { method: "GET", target: COUNT, timeout_ms: DEADLINE_MS } as const;

/** The text for a shell prompt, such as `gate:2`; empty if no action is held. */
export async function promptText(io: PromptIo): Promise<string> {
  const count = await countPending(io);
  return count ? `gate:${count}\n` : "";
}

/** The number of held actions, or null if no daemon runs; never starts a daemon, never throws. */
export async function countPending(io: PromptIo): Promise<number | null> {
  try {
    const place = io.is_alone ? earlyPlace(io.env) : null;
    const answer = place ? await askAlone(io, place) : await askUsually(io);
    if (answer?.status !== 200) return null;
    return (JSON.parse(answer.body) as { count: number }).count;
  } catch {
    return null;
  }
}

async function askAlone(io: PromptIo, place: EarlyPlace): Promise<Answer | null> {
  const calls = await QuickCalls.open();
  if (calls) return await askByCalls(place, calls);
  const early = beginEarly(io.env, "viewer");
  if (early === null) return await askUsually(io);
  const found = await early.token;
  if (!("token" in found)) return null;
  return await ask({ ...QUESTION, socket: early.socket, token: found.token }, early.wire);
}

async function askByCalls(place: EarlyPlace, calls: QuickCalls): Promise<Answer | null> {
  const socket = calls.connect(place.socket);
  const found = calls.readToken(place.tokens, "viewer");
  if (socket === null || !("token" in found)) return null;
  if (!calls.send(socket, requestBytes({ ...QUESTION, token: found.token }))) return null;
  return await receiveAnswer(calls, socket, DEADLINE_MS);
}

async function askUsually(io: PromptIo): Promise<Answer | null> {
  const { findSocketAndToken } = await import("./socket_and_token.ts");
  const { socket, found } = findSocketAndToken(io, "viewer");
  if (!("token" in found)) return null;
  // Only the daemon can answer on its socket, so the health check is not needed.
  return socket === null
    ? await askPort(io, found.token)
    : await ask({ ...QUESTION, socket, token: found.token });
}

async function askPort(io: PromptIo, token: string): Promise<Answer> {
  const [{ findDaemon }, { placeOf }] = await Promise.all([
    import("./find.ts"),
    import("../place.ts"),
  ]);
  const reached = await findDaemon(placeOf(io));
  if (!reached) throw new Error("no daemon");
  const answer = await reached.fetch(`${reached.url}${COUNT}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  return { status: answer.status, body: await answer.text() };
}
