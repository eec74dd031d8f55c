import { hooksOf } from "../../server/hosts/hosts.ts";
import type { Early } from "../daemon/early.ts";
import type { Io } from "../io.ts";
import { answerHook } from "./answer.ts";
import { DEADLINES } from "./deadlines.ts";
import { readInput } from "./input.ts";

/** What every host reads as "blocked"; the reason is on stderr. */
const BLOCKED = 2;
const USAGE = 64;

/** Answers one hook and says how the process ends. */
export async function runHook(
  host: string,
  io: Pick<Io, "env" | "cwd" | "pid"> & { early: Early | null },
): Promise<number> {
  if (!hooksOf(host)) {
    console.error(`gate: Cannot answer: gate knows no hooks of "${host}"\n  try: gate hook --help`);
    return USAGE;
  }
  try {
    // Waits until it is written, and loads nothing that would take longer.
    console.log(await answerHook(host, { ...io, input: readInput, deadlines: DEADLINES }));
    return 0;
  } catch (error) {
    console.error(`Blocked by gate: ${error instanceof Error ? error.message : String(error)}`);
    return BLOCKED;
  }
}
