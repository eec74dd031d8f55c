import { IS_QUICK } from "./quick_files.ts";

interface Quick {
  Bun: { stdout: object; write(file: object, text: string): Promise<number> };
}

/**
 * Writes a text to standard output. `console.log` hides that a disk is full or a pipe closed, and
 * opening `process.stdout` would double the start time.
 * @throws Error when not all of it was written
 */
export async function print(text: string): Promise<void> {
  if (IS_QUICK) {
    const { Bun } = globalThis as unknown as Quick;
    await Bun.write(Bun.stdout, text);
    return;
  }
  const { writeSync } = await import("node:fs");
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
}
