import { readToken } from "../../server/auth/tokens.ts";
import type { WireAnswer } from "../../server/runtime/wire.ts";
import { ensureDaemon } from "../daemon/connect.ts";
import { explain } from "../errors.ts";
import { placeOf } from "../place.ts";
import type { Io } from "../io.ts";

/** Sends the request to the daemon, and starts the daemon when none runs. @throws Error */
export async function askStarting(
  { target, body, timeout_ms }: { target: string; body: string; timeout_ms: number },
  io: Pick<Io, "env" | "cwd" | "pid">,
): Promise<WireAnswer> {
  const deadline = AbortSignal.timeout(timeout_ms);
  const reached = await ensureDaemon(io).catch((error) => {
    throw new Error(explain(error).message, { cause: error });
  });
  const token = await readToken(placeOf(io).home, "agent");
  const answer = await reached.fetch(`${reached.url}${target}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body,
    signal: deadline,
  });
  const headers = new Map(answer.headers);
  return { status: answer.status, headers, body: await answer.text() };
}
