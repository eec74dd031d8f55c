import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { CliError } from "./errors.ts";

/** A file's text, or null where there is none. @throws CliError */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new CliError(`Cannot read "${path}": ${(cause as Error).message}`);
  }
}

/** Keeps a copy of a file in the gate's home; returns where. */
export function backUp(path: string, home: string): string {
  const folder = join(home, "backups");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const copy = join(folder, `${stamp}-${basename(path)}`);
  copyFileSync(path, copy);
  chmodSync(copy, 0o600);
  return copy;
}

/** Replaces a file at one stroke, its mode kept; a symlink is refused. @throws CliError */
export function writeText(path: string, text: string, mode: number): void {
  const known = lstatSync(path, { throwIfNoEntry: false });
  if (known && !known.isFile()) {
    throw new CliError(`Cannot write "${path}": it is no plain file`);
  }
  const temporary = join(dirname(path), `.${basename(path)}.${Date.now()}.tmp`);
  writeFileSync(temporary, text, { flag: "wx", mode: known ? known.mode & 0o777 : mode });
  renameSync(temporary, path);
}
