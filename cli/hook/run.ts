import { hooksOf } from "../../server/hosts/hosts.ts";
import { print } from "../../server/runtime/print.ts";
import type { Io } from "../io.ts";
import { answerHook } from "./answer.ts";
import type { BegunHook } from "./begin.ts";
import { DEADLINES } from "./deadlines.ts";
import { readInput } from "./input.ts";

/** The exit code that every host reads as "blocked", with the reason on stderr. */
const BLOCKED = 2;
const USAGE = 64;

/** Answers one hook. Returns the exit code. */
export async function runHook(
  host: string,
  { begun, ...io }: Pick<Io, "env" | "cwd" | "pid"> & { begun: BegunHook | null },
): Promise<number> {
  const input = begun ? () => begun.input : readInput;
  if (!hooksOf(host)) {
    console.error(
      `gate: Cannot answer the hook: gate has no hooks for "${
        plain(host)
      }"\n  try: gate hook --help`,
    );
    return await isCalledByHost(input) ? BLOCKED : USAGE;
  }
  try {
    const answer = await answerHook(host, {
      ...{ ...io, input, deadlines: DEADLINES },
      first: begun?.answer ?? null,
    });
    // A host goes on after exit code 0 without an answer, so a lost answer must block.
    await print(`${answer}\n`);
    return 0;
  } catch (error) {
    console.error(
      `Blocked by gate: ${plain(error instanceof Error ? error.message : String(error))}`,
    );
    return BLOCKED;
  }
}

/** A line that acts on no terminal. `visible.ts` is not loaded, so that nothing can fail here. */
function plain(text: string): string {
  return text.replace(
    /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (sign) => `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** Whether a program waits for an answer; a newer gate may have set up a host that this one lacks. */
async function isCalledByHost(input: () => Promise<string>): Promise<boolean> {
  const { isatty } = await import("node:tty");
  return !isatty(0) && await input().catch(() => "unreadable") !== "";
}
