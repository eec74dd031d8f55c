import { openedCalls } from "./quick_calls.ts";
import { IS_QUICK } from "./quick_files.ts";

interface Quick {
  Bun: { stdout: object; write(file: object, bytes: Uint8Array): Promise<number> };
}

/**
 * Writes a text to standard output. `console.log` hides that a disk is full or a pipe closed, and
 * opening `process.stdout` would double the start time.
 * @throws Error when not all of it was written
 */
export async function print(text: string): Promise<void> {
  let rest: Uint8Array = new TextEncoder().encode(text);
  if (IS_QUICK) {
    rest = openedCalls()?.print(rest) ?? rest;
    const { Bun } = globalThis as unknown as Quick;
    if (rest.length > 0) await Bun.write(Bun.stdout, rest);
    return;
  }
  const { writeSync } = await import("node:fs");
  while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
}
