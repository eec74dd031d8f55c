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

let styles: Promise<void> | null = null;

/**
 * Applies the styles of the pages that load later. A browser does not load the link of `index.html`
 * until it becomes a style sheet. @throws Error if the styles cannot be loaded
 */
export function loadStyles(): Promise<void> {
  return styles ??= new Promise((resolve, reject) => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="alternate"]')!;
    link.onload = () => resolve();
    link.onerror = () => reject(new Error("Cannot load the styles: reload the page"));
    link.rel = "stylesheet";
  });
}
