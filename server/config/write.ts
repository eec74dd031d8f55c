import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

/** Replaces a file in one step; its mode is kept, a new one gets `mode`. */
export function writeWhole(path: string, text: string, mode: number): void {
  const temporary = join(dirname(path), `.gate-${randomUUID()}`);
  const file = openSync(temporary, "wx", statSync(path, { throwIfNoEntry: false })?.mode ?? mode);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
