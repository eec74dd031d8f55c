import { lstatSync } from "node:fs";

/** Whether the name has bytes that are no text. Reading the folder has replaced them. */
export function isUnnamed(path: string): boolean {
  return path.includes("\uFFFD") && lstatSync(path, { throwIfNoEntry: false }) === undefined;
}
