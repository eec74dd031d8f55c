import { ask } from "../../server/runtime/wire.ts";
import type { Early } from "./early.ts";
import type { Io } from "../io.ts";

interface PromptIo extends Pick<Io, "env" | "cwd"> {
  early?: Early | null;
}

const DEADLINE_MS = 1_000;
const COUNT = "/api/global/approvals/count";

/** The text for a shell prompt, such as `gate:2`; empty if no action is held. */
export async function promptText(io: PromptIo): Promise<string> {
  const count = await countPending(io);
  return count ? `gate:${count}\n` : "";
}

/** The number of held actions, or null if no daemon runs; never starts a daemon, never throws. */
export async function countPending(io: PromptIo): Promise<number | null> {
  try {
    const { early } = io;
    const { socket, found } = early
      ? { socket: early.socket, found: await early.token }
      : (await import("./socket_and_token.ts")).findSocketAndToken(io, "viewer");
    if (!("token" in found)) return null;
    const { status, body } = socket === null
      ? await askPort(io, found.token)
      // Only the daemon can answer on its socket, so the health check is not needed.
      : await ask(
        { socket, method: "GET", target: COUNT, ...found, timeout_ms: DEADLINE_MS },
        early?.wire,
      );
    if (status !== 200) return null;
    return (JSON.parse(body) as { count: number }).count;
  } catch {
    return null;
  }
}

async function askPort(io: Pick<Io, "env" | "cwd">, token: string) {
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
