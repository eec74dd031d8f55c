import { distrust, provenKey } from "./auth.ts";

/** Loads one chunk of the page's code. */
type Load = () => Promise<unknown>;

let chunks: readonly Load[] = [];

/** Names every chunk of the page that loads later. */
export function openCode(all: readonly Load[]): void {
  chunks = all;
}

/**
 * Loads every chunk, after the daemon has proved itself again. An unlocked page then loads no more code: a program that takes the port could
 * send its own, which would run beside the key.
 */
export async function loadAllCode(): Promise<void> {
  distrust();
  await provenKey();
  await Promise.all(chunks.map((load) => load()));
}
