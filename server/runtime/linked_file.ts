import { statSync } from "node:fs";

/** A regular file with more than one name. */
export interface LinkedFile {
  dev: number;
  ino: number;
}

/** The file at a path if it has several hard links; null otherwise. */
export function linkedFile(path: string): LinkedFile | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile() || found.nlink < 2) return null;
    return { dev: found.dev, ino: found.ino };
  } catch {
    return null;
  }
}
