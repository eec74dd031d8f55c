import type { Io } from "../io.ts";

/** Whether the person at the terminal says yes; no is what a mere return means. */
export async function isConfirmed(io: Io, message: string): Promise<boolean> {
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({
    ...{ input: io.stdin, output: io.stdout },
    ...{ message, initialValue: false },
  });
  return !isCancel(answer) && answer;
}
