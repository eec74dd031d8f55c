import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identify, isSameProcess, type ProcessIdentity } from "../../server/runtime/processes.ts";
import { readSmallFile } from "../../server/runtime/small_file.ts";

const MAX_BYTES = 4 * 1024;

/**
 * Takes the turn to start the daemon; false while another live process has it. It only spares
 * needless processes: that one daemon owns the home is settled by the daemon's own lock.
 */
export function takeTurn(home: string, pid: number): boolean {
  const path = turnPath(home);
  const me = JSON.stringify(identify(pid) ?? { pid, start_time: "" });
  try {
    writeFileSync(path, me, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!isHeld(path)) rmSync(path, { force: true });
    return false;
  }
}

/** Gives the turn back. */
export function releaseTurn(home: string): void {
  rmSync(turnPath(home), { force: true });
}

function isHeld(path: string): boolean {
  try {
    return isSameProcess(JSON.parse(readSmallFile(path, MAX_BYTES)) as ProcessIdentity);
  } catch (error) {
    // Just created, and its writer has not come to writing yet.
    return error instanceof SyntaxError && Date.now() - statSync(path).mtimeMs < 2_000;
  }
}

function turnPath(home: string): string {
  return join(home, "run", "starting.json");
}
