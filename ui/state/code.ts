import { ExplainedError } from "../../server/proof/explained_error.ts";
import { distrust, provenKey } from "./auth.ts";

/** Loads one chunk of the page's code. */
type Load = () => Promise<unknown>;

let chunks: readonly Load[] = [];

/** Names every chunk of the page that loads later. */
export function openCode(all: readonly Load[]): void {
  chunks = all;
}

/**
 * Loads every chunk, after the daemon has proved itself again. An unlocked page then loads no more
 * code: a program that takes the port could send its own, which would run beside the key.
 */
export async function loadAllCode(): Promise<void> {
  distrust();
  await provenKey();
  await Promise.all(chunks.map((load) => load()));
}

/** The styles of a card of the queue, and those of every other part that loads later. */
export type Styles = "card" | "all";

/**
 * Applies styles that load later. A browser does not load a link of `index.html` until it becomes a
 * style sheet. @throws ExplainedError if the styles cannot be loaded
 */
export async function loadStyles(styles: Styles = "all"): Promise<void> {
  const parts = styles === "card" ? ["card"] : ["card", "later"];
  await Promise.all(parts.map(applyStyles));
}

const applied = new Map<string, Promise<void>>();

function applyStyles(part: string): Promise<void> {
  const known = applied.get(part) ?? new Promise((resolve, reject) => {
    const link = document.querySelector<HTMLLinkElement>(`link[data-part="${part}"]`)!;
    link.onload = () => resolve();
    link.onerror = () => reject(new ExplainedError("Cannot load the styles: reload the page"));
    link.rel = "stylesheet";
  });
  applied.set(part, known);
  return known;
}

const PATIENCE_MS = 1_000;
let drawn = () => {};
const firstDrawn = new Promise<void>((resolve) => drawn = resolve);
const late = new Promise<void>((resolve) => setTimeout(resolve, PATIENCE_MS));

/** Says that the page shows what a person came for: the first card, or that there is none. */
export function tellDrawn(): void {
  drawn();
}

/** Resolves when the first card is there, or after a second: code that no card needs loads then. */
export async function afterFirstCard(): Promise<void> {
  await Promise.race([firstDrawn, late]);
}
