import { signal } from "@preact/signals";
import type { FileDiff } from "../../server/sessions/schema.ts";

const NAME = "gate.viewed";
const MOST = 2_000;

/** The files that this browser's reader has viewed, each as it then was, in each session. */
const viewed = signal<ReadonlySet<string>>(read());

addEventListener("storage", ({ key }) => {
  if (key === NAME) viewed.value = read();
});

/** Whether the reader marked the file as viewed, and it has not changed since. */
export function isViewed(session: string, file: FileDiff): boolean {
  return viewed.value.has(keyOf(session, file));
}

/** Marks a file as viewed, or takes the mark away. */
export function setViewed(session: string, file: FileDiff, is_viewed: boolean): void {
  const key = keyOf(session, file);
  const others = [...viewed.peek()].filter((one) => one !== key);
  const kept = (is_viewed ? [...others, key] : others).slice(-MOST);
  viewed.value = new Set(kept);
  localStorage.setItem(NAME, JSON.stringify(kept));
}

/** Another text for each content, so that a change takes the mark away. */
function keyOf(session: string, { path, before, after }: FileDiff): string {
  return JSON.stringify([session, before?.sha256 ?? null, after?.sha256 ?? null, path]);
}

// Another program may have written anything there.
function read(): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return new Set((kept as unknown[]).filter((one) => typeof one === "string").slice(-MOST));
  } catch {
    return new Set();
  }
}
