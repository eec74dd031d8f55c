import { accessSync, constants, existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { platform, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { reasonOf } from "../errors.ts";
import { quote } from "../../server/shown/quote.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

/** The repair by which the daemon makes its folder private. */
const CLOSE_HOME = { kind: "home" } as const;

/** Checks that the data folder exists, belongs to this user and is private. */
export function checkHome({ place: { home } }: CheckContext, found: Findings): void {
  const stats = statSync(home, { throwIfNoEntry: false });
  if (!stats) {
    checkWritable(nearestFolder(home), found);
    if (found.list.length === 0) found.ok(`${home} is created at the first start`);
    return;
  }
  if (!stats.isDirectory()) {
    return found.fail(`${home} is not a folder`, `mv ${quote(home)} ${quote(`${home}.old`)}`);
  }
  if (platform() === "win32") return found.ok(home);
  for (const folder of [home, ...foldersIn(home)]) checkFolder(folder, found);
  checkWritable(home, found);
  if (found.list.length === 0) found.ok(`${home} is yours alone`);
}

/** The path itself, or its nearest existing parent. */
export function nearestFolder(path: string): string {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function checkWritable(home: string, found: Findings): void {
  try {
    accessSync(home, constants.W_OK);
  } catch (error) {
    const fix = "set GATE_HOME to a folder that can be written";
    found.fail(`${home} cannot be written: ${reasonOf(error)}`, fix);
  }
}

function foldersIn(home: string): string[] {
  return ["keys", "logs", "projects", "run", "tokens"].map((name) => join(home, name))
    .filter((folder) => existsSync(folder));
}

function checkFolder(folder: string, found: Findings): void {
  const { uid, mode } = statSync(folder);
  if (uid !== userInfo().uid) {
    found.fail(`user ${uid} owns ${folder}, not you`, `sudo chown -R "$USER" "${folder}"`);
  } else if (mode & 0o022) {
    found.fail(`others may write to ${folder}`, `chmod 700 "${folder}"`, CLOSE_HOME);
  } else if (mode & 0o055) {
    found.warn(`others may look into ${folder}`, `chmod 700 "${folder}"`, CLOSE_HOME);
  }
}

/** Checks that only this user can read tokens and keys, because a reader could approve actions. */
export function checkSecrets({ place: { home } }: CheckContext, found: Findings): void {
  const files = ["tokens", "keys"].map((name) => join(home, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  for (const file of files) {
    const stats = lstatSync(file);
    if (!stats.isFile()) found.fail(`${file} is no plain file`, `rm ${quote(file)}`);
    else if (platform() !== "win32" && stats.mode & 0o077) {
      found.fail(`others may read ${file}`, `chmod 600 "${file}"`, CLOSE_HOME);
    }
  }
  if (found.list.length > 0) return;
  found.ok(files.length > 0 ? "nobody else can read them" : "created at the first start");
}
