import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { commandsOf, type Proof } from "../../policy/prove/proved.ts";
import { findProgram, type Program, programKey } from "../../runtime/find_program.ts";
import { CAN_RUN_PROVED } from "../../runtime/run_proved.ts";
import { ownEnvironment } from "../../runtime/self.ts";
import type { ParsedInput, PlannedProgram } from "../plan.ts";
import { isInside } from "./target.ts";

/**
 * The program files of a proved command, found as its shell would find them. Null if it is not
 * proved, or if a program is not there yet: then only a shell can run it.
 * @param projects the folders of all projects
 */
export function programsOf(
  { search_path = ownEnvironment()["PATH"] ?? "" }: Pick<ParsedInput, "search_path">,
  proof: Proof | null,
  projects: readonly string[],
): PlannedProgram[] | null {
  if (!CAN_RUN_PROVED || proof === null || "unproved" in proof) return null;
  const found = new Map<string, PlannedProgram>();
  for (const { argv: [name], builtin, folders } of commandsOf(proof.proved)) {
    if (builtin && name !== "which") continue;
    for (const folder of folders) {
      if (found.has(programKey(name, folder))) continue;
      const program = findProgram(name, folder, search_path);
      if (!program) return null;
      found.set(program.name, locate(program, projects));
    }
  }
  return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Adds where a link leads, and whose folder holds the file or the link. */
function locate(program: Program, projects: readonly string[]): PlannedProgram {
  const real = realOf(program.path);
  const lies = (folders: readonly string[]) =>
    folders.some((folder) => isInside(program.path, folder) || isInside(real, folder));
  const changeable = lies(projects) ? "project" : lies(TEMPORARY) ? "temporary" : null;
  return { ...program, ...real !== program.path && { real }, ...changeable && { changeable } };
}

const TEMPORARY = [
  ...new Set(["/tmp", "/var/tmp", "/dev/shm", tmpdir()].flatMap((path) => [path, realOf(path)])),
];

/** The path itself if the disk gives no answer. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
