import { chmodSync, existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { GateError } from "../errors.ts";

const FOLDERS = ["keys", "logs", "projects", "run", "tokens"] as const;

/**
 * Makes the gate's data folder and what belongs in it, mode 0700. @throws GateError `unavailable`
 * when somebody else owns the folder or may write to it, saying how to mend that
 */
export function openHome(home: string): void {
  makePrivate(home);
  for (const name of FOLDERS) makePrivate(join(home, name));
}

function makePrivate(folder: string): void {
  if (!existsSync(folder)) makeFolder(folder);
  const found = statSync(folder);
  if (!found.isDirectory()) {
    throw refused(folder, "it is not a folder", `move it away: mv "${folder}" "${folder}.old"`);
  }
  // Windows has no such modes; its home folders are private by their access lists.
  if (process.platform === "win32") return;
  const uid = process.getuid?.() ?? found.uid;
  // A link is as good as what it points to, if nobody else can point it elsewhere.
  const owner = found.uid === uid ? lstatSync(folder).uid : found.uid;
  if (owner !== uid) {
    throw refused(folder, `user ${owner} owns it, not you`, ELSEWHERE);
  }
  if (found.mode & 0o022) {
    throw refused(folder, "others may write to it", `run: chmod go-rwx "${folder}"`);
  }
  // Reading it alone gives nothing away that tokens protect, but nobody needs to.
  if (found.mode & 0o055) chmodSync(folder, 0o700);
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const [why, next] = UNMADE[code] ?? [message, ELSEWHERE];
    throw refused(folder, `it cannot be made: ${why}`, next);
  }
}

const ELSEWHERE = "set GATE_HOME to a folder of yours";
const UNMADE: Record<string, [string, string]> = {
  EACCES: ["permission denied", ELSEWHERE],
  EPERM: ["it is not permitted", ELSEWHERE],
  EROFS: ["the file system is read-only", ELSEWHERE],
  ENOTDIR: ["a part of the path is no folder", ELSEWHERE],
  ENAMETOOLONG: ["the name is too long", ELSEWHERE],
  ENOSPC: ["the disk is full", "make room and try again"],
};

function refused(folder: string, why: string, next: string): GateError {
  return new GateError("unavailable", `Cannot use the data folder "${folder}": ${why}; ${next}`);
}
