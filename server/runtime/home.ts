import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { VERSION } from "../constants.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { identify } from "./processes.ts";
import { quote } from "../shown/quote.ts";
import type { Listening } from "./serve.ts";

const FOLDERS = ["keys", "logs", "projects", "run", "tokens"] as const;

/**
 * Creates the gate's data folder and its subfolders with mode 0700. @throws GateError `unavailable`
 * when another user owns the folder or may write to it; the message says how to fix that
 */
export function openHome(home: string): void {
  makePrivate(home);
  for (const name of FOLDERS) makePrivate(join(home, name));
}

/**
 * Takes the data folder, its subfolders, the tokens and the keys away from other users. Returns the
 * paths whose mode changed. It follows no link.
 */
export function closeHome(home: string): string[] {
  // Windows has no such modes.
  if (process.platform === "win32") return [];
  const folders = [home, ...FOLDERS.map((name) => join(home, name))].filter((one) =>
    existsSync(one)
  );
  const changed = folders.filter((folder) => narrow(folder, 0o700));
  const secrets = ["tokens", "keys"].map((name) => join(home, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return [...changed, ...secrets.filter((file) => narrow(file, 0o600))];
}

/** Removes all rights but these from a folder or plain file. Returns whether it had others. */
function narrow(path: string, most: number): boolean {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return false; // the checks go on to report a link, and a file that nobody can open
  }
  try {
    const stats = fstatSync(file);
    if (stats.uid !== process.getuid?.() || (!stats.isDirectory() && !stats.isFile())) return false;
    if ((stats.mode & 0o777 & ~most) === 0) return false;
    fchmodSync(file, stats.mode & most);
    return true;
  } finally {
    closeSync(file);
  }
}

/** Writes `daemon.json`, which tells clients where the daemon listens; it proves nothing. */
export async function writeDaemonFile(
  environment: Environment,
  listening: Pick<Listening, "port" | "socket_path">,
): Promise<void> {
  const file = {
    ...(identify(process.pid) ?? { pid: process.pid, start_time: "" }),
    port: listening.port,
    version: VERSION,
    started_at: new Date(environment.now()).toISOString(),
    socket: listening.socket_path,
    instance: environment.id(),
  };
  const path = join(environment.home, "daemon.json");
  const temporary = `${path}.${file.instance}`;
  await writeFile(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
}

/** Removes `daemon.json` when the daemon ends. */
export async function removeDaemonFile(home: string): Promise<void> {
  await rm(join(home, "daemon.json"), { force: true });
}

function makePrivate(folder: string): void {
  if (!existsSync(folder)) makeFolder(folder);
  const found = statSync(folder);
  if (!found.isDirectory()) {
    throw refused(
      folder,
      "it is not a folder",
      `mv ${quote(folder)} ${quote(`${folder}.old`)}`,
    );
  }
  // Windows has no such modes; its home folders are private by their access lists.
  if (process.platform === "win32") return;
  const uid = process.getuid?.() ?? found.uid;
  // A link counts as its target when no other user can change the link.
  const owner = found.uid === uid ? lstatSync(folder).uid : found.uid;
  if (owner !== uid) {
    throw refused(folder, `user ${owner} owns it, not you`, ELSEWHERE);
  }
  if (found.mode & 0o022) {
    throw refused(folder, "others may write to it", `chmod go-rwx "${folder}"`);
  }
  // The tokens are protected by their own modes; other users need no read access here either.
  if (found.mode & 0o055) chmodSync(folder, 0o700);
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const [why, next] = UNMADE[code] ?? [message, ELSEWHERE];
    throw refused(folder, `it cannot be created: ${why}`, next);
  }
}

const ELSEWHERE = "set GATE_HOME to a folder that you own";
const UNMADE: Record<string, [string, string]> = {
  EACCES: ["permission denied", ELSEWHERE],
  EPERM: ["it is not permitted", ELSEWHERE],
  EROFS: ["the file system is read-only", ELSEWHERE],
  ENOENT: ["nothing can be created there", ELSEWHERE],
  ENOTDIR: ["a part of its path is not a folder", ELSEWHERE],
  ENAMETOOLONG: ["the name is too long", ELSEWHERE],
  ENOSPC: ["the disk is full", "free some space and try again"],
};

function refused(folder: string, why: string, next: string): GateError {
  return new GateError("unavailable", `Cannot use the data folder "${folder}": ${why}`, { next });
}
