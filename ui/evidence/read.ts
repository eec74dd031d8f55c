import { toBundleLine } from "../../server/evidence/bundle.ts";
import type { Proof } from "../../server/evidence/schema.ts";
import type { Evidence } from "../../server/evidence/verify.ts";

/** Yields to the event loop after this many milliseconds. */
const YIELD_MS = 40;

/** The data in the page: one line per event, and their proof. */
export interface Content {
  proof: Proof;
  lines: string[];
}

/** Reads the data in this page; null when it has none. */
export function readContent(): Content | null {
  const [proof] = textsOf("proof");
  try {
    const value = JSON.parse(proof ?? "") as Proof;
    if (value.format !== "gate-audit-bundle" || value.version !== 1) return null;
    return { proof: value, lines: textsOf("events").flatMap(linesOf) };
  } catch {
    return null;
  }
}

/** The lines as evidence; `hear` receives the progress from 0 to 1. */
export function evidenceOf({ proof, lines }: Content, hear: (share: number) => void): Evidence {
  return { ...proof, pages: pagesOf(lines, hear), toLine: toBundleLine };
}

async function* pagesOf(lines: string[], hear: (share: number) => void) {
  const page = 200;
  let last = performance.now();
  for (let at = 0; at < lines.length; at += page) {
    yield lines.slice(at, at + page);
    if (performance.now() - last < YIELD_MS) continue;
    hear(at / lines.length);
    await new Promise((resolve) => setTimeout(resolve));
    last = performance.now();
  }
}

function textsOf(name: string): string[] {
  return [...document.querySelectorAll(`script[type="application/json"][data-gate="${name}"]`)]
    .map((element) => element.textContent ?? "");
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
