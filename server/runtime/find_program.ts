import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

/** A program file that a command would start. */
export interface Program {
  /** The name in the command, or the absolute path if that name has a slash. */
  name: string;
  path: string;
  /** Device, inode, size and time of change: they tell this file from another under its path. */
  inode: string;
}

/** The name under which a program is known, seen from a folder. */
export function programKey(name: string, folder: string): string {
  return name.includes("/") ? resolve(folder, name) : name;
}

/**
 * Finds the program file of a name as a shell does: in the folders of a search path, unless the name
 * has a slash. Null if there is none that this user may execute.
 */
export function findProgram(name: string, folder: string, search_path: string): Program | null {
  const key = programKey(name, folder);
  const places = isAbsolute(key)
    ? [key]
    : search_path.split(":").filter(isAbsolute).map((place) => join(place, name));
  for (const path of places) {
    const inode = inodeOf(path);
    if (inode !== null) return { name: key, path, inode };
  }
  return null;
}

/** Whether the path still leads to the file that was found. */
export function isUnchanged({ path, inode }: Program): boolean {
  return inodeOf(path) === inode;
}

function inodeOf(path: string): string | null {
  try {
    // An error for each folder without it would cost more than the look.
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile()) return null;
    accessSync(path, constants.X_OK);
    const { dev, ino, size, mtimeMs } = found;
    return `${dev}:${ino}:${size}:${Math.floor(mtimeMs)}`;
  } catch {
    return null;
  }
}
