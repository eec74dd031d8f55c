import { accessSync, constants, statSync } from "node:fs";

/** Whether the path leads to a file that this user may execute. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
