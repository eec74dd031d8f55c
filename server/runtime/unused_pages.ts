import { readFile } from "node:fs/promises";
import { openSystemCalls, type SystemCalls } from "./system_calls.ts";

/** Pages of a file in the memory of a process. */
export interface Mapping {
  from: bigint;
  to: bigint;
}

/** The kernel frees the pages; those that are used again come back from the file. */
const MADV_DONTNEED = 4;

let opened: Promise<SystemCalls | null> | null = null;

/**
 * Gives back the pages of the executable and its libraries, most of which only the start has used. The
 * kernel reads those that are needed again from its cache. Does nothing where the runtime makes no
 * system calls.
 */
export async function dropUnusedPages(): Promise<void> {
  const calls = await (opened ??= openSystemCalls());
  if (calls === null) return;
  for (const { from, to } of unchangedFiles(await readFile("/proc/self/smaps", "utf8"))) {
    calls.call(calls.numbers.madvise, from, to - from, MADV_DONTNEED);
  }
}

/**
 * The mappings of files that nobody can write and nobody has written, so that each page is the file's.
 * Others would lose what is only in memory.
 */
export function unchangedFiles(smaps: string): Mapping[] {
  const mappings = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return mappings.flatMap((text) => {
    const head = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \S+ +\//.exec(text);
    if (!head || !/^Anonymous: +0 kB$/m.test(text) || /^Rss: +0 kB$/m.test(text)) return [];
    return [{ from: BigInt(`0x${head[1]}`), to: BigInt(`0x${head[2]}`) }];
  });
}
