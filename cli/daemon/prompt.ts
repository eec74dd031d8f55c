import { ask } from "../../server/runtime/wire.ts";
import type { Early } from "./early.ts";
import type { Io } from "../io.ts";

interface PromptIo extends Pick<Io, "env" | "cwd"> {
  /** What is under way already. */
  early?: Early | null;
}

const DEADLINE_MS = 1_000;
const COUNT = "/api/global/approvals/count";

/** What a shell prompt shows of the actions that wait; empty when none do. */
export async function promptText(io: PromptIo): Promise<string> {
  const count = await countPending(io);
  return count ? `gate:${count}\n` : "";
}

/** The number of held actions, or null when no daemon runs; never starts one, never fails. */
export async function countPending(io: PromptIo): Promise<number | null> {
  try {
    const { early } = io;
    const { socket, found } = early
      ? { socket: early.socket, found: await early.token }
      : (await import("../way.ts")).findWay(io, "viewer");
    if (!("token" in found)) return null;
    const { status, body } = socket === null
      ? await askPort(io, found.token)
      // Over the socket one question is enough: nobody but our daemon can answer there.
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
