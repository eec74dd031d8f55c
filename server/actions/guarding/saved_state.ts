import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "../../db/chain.ts";
import { writeWhole } from "../../runtime/small_file.ts";
import type { Kept, Snapshot } from "./snapshot.ts";

/** The digests of the states that are kept on the disk, by the name of their file. */
export type Baseline = Record<string, string>;

/** The name under which the state of a set of guarded files is kept. */
export function nameOfState(key: string): string {
  return sha256(key).slice(0, 24);
}

/** The file that keeps the state of a set of guarded files, for a start after a crash. */
export function stateFile(home: string, key: string): string {
  return join(home, "guarding", `${nameOfState(key)}.json`);
}

/** A state as text, with the contents of its files, and the digest of that text. */
export function stateText(key: string, snapshot: Snapshot): { text: string; digest: string } {
  const files = [...snapshot].map(([path, { content, ...rest }]) => ({
    path,
    ...rest,
    content: content && Buffer.from(content).toString("base64"),
  }));
  const text = JSON.stringify({ key, files });
  return { text, digest: sha256(text) };
}

/** Writes the text of a state for its owner only. @throws the error of the file system */
export function saveState(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeWhole(file, text, 0o600);
}

/** Reads a state; null without a file. The snapshot is null if gate did not write the file. */
export function loadState(
  file: string,
  key: string,
): { snapshot: Snapshot | null; digest: string } | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return null;
  }
  const digest = sha256(text);
  try {
    const state = JSON.parse(text) as {
      key: string;
      files: (Omit<Kept, "content"> & { path: string; content: string | null })[];
    };
    if (state.key !== key) return { snapshot: null, digest };
    const snapshot = new Map(state.files.map(({ path, content, ...rest }) => [
      path,
      {
        ...rest,
        above: rest.above ?? null,
        content: content === null ? null : Buffer.from(content, "base64"),
      },
    ]));
    return { snapshot, digest };
  } catch {
    return { snapshot: null, digest };
  }
}

/**
 * Whether a state is the one from before a crash. A set that was not watched then had none. With
 * `before` null nobody knows the digest, so any state counts.
 */
export function isExpected(name: string, found: string, before: Baseline | null): boolean {
  if (before === null) return found !== "";
  const expected = before[name];
  return expected === undefined || expected === found;
}
