import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readGitConfig } from "../runtime/git_config.ts";
import { removeTree } from "../runtime/remove_tree.ts";
import { ownUid } from "../runtime/self.ts";
import { readSmallFile } from "../runtime/small_file.ts";

/** The folders that the commands of one session share and nobody else sees. */
export interface PrivateFolders {
  tmp: string;
  cache: string;
}

/**
 * The private folders of a session below the data folder. They are made once: later a command may
 * have put links into them. @throws the error of the file system
 */
export function privateFolders(
  gate_home: string,
  session_id: string,
  home: string,
): PrivateFolders {
  const { made, ...folders } = placesOf(gate_home, session_id);
  if (existsSync(made)) return folders;
  mkdirSync(folders.tmp, { recursive: true, mode: 0o700 });
  mkdirSync(join(folders.cache, "npm"), { recursive: true, mode: 0o700 });
  writeFileSync(join(folders.cache, "gitconfig"), identityOf(home), { mode: 0o600 });
  // The last step, so that it tells that the others were done.
  writeFileSync(made, "", { mode: 0o600 });
  return folders;
}

function placesOf(gate_home: string, session_id: string) {
  const own = join(gate_home, "sandbox", session_id);
  return { tmp: join(own, "tmp"), cache: join(own, "cache"), made: join(own, "made") };
}

/** Removes what the sandboxes of all sessions but these left behind, in the background. */
export function removePrivateFolders(gate_home: string, kept: ReadonlySet<string>): void {
  const own = join(gate_home, "sandbox");
  const old = join(gate_home, `sandbox.${crypto.randomUUID().slice(0, 8)}`);
  try {
    const names = readdirSync(own).filter((name) => !kept.has(name));
    if (names.length === 0) return;
    mkdirSync(old, { mode: 0o700 });
    for (const name of names) renameSync(join(own, name), join(old, name));
  } catch {
    // Nothing ran in a sandbox yet, or the rest goes at the next start.
  }
  removeTree(old).catch(() => {});
}

/** Who the user is to git, and how git treats files; nothing that names a program or a place. */
const PASSED =
  /^(user\.(name|email)|init\.defaultbranch|core\.(autocrlf|eol|filemode|quotepath|safecrlf)|safe\.directory|(pull|rebase|merge|diff|color|log|column|branch)\.[a-z]+)$/;
const MOST_BYTES = 256 * 1024;

function identityOf(home: string): string {
  const entries = [".config/git/config", ".gitconfig"].flatMap((name) => {
    try {
      return readGitConfig(readSmallFile(join(home, name), MOST_BYTES)) ?? [];
    } catch {
      return [];
    }
  });
  return entries.filter(([key, value]) => PASSED.test(key) && !/^!|["\\\n\0]/.test(value))
    .map(([key, value]) => {
      const [section, name] = key.split(".");
      return `[${section}]\n\t${name} = "${value}"\n`;
    }).join("");
}

/** Larger files are not copied. */
const MOST_COPIED = 64 * 1024 * 1024;
const MOST_NAMED = 20;
const NAMED = /(?:^|[\s'"=:(<>|&;,@])\/tmp\/([^\s'"`$;|&<>()*?[\]{}\\,]+)/g;

/** The first names below `/tmp` of the paths that a command line names, also of patterns. */
export function firstsInTmp(command: string): string[] {
  return [...new Set([...command.matchAll(FIRST)].map(([, name]) => name!))];
}

const FIRST = /(?:^|[\s'"=:(<>|&;,@])\/tmp\/+([^\s'"`$;|&<>()*?[\]{}\\,/]+)/g;

/** Whether one of these names lies in the session's own `/tmp`. */
export function liesInTmp(gate_home: string, session_id: string, names: readonly string[]) {
  const { tmp } = placesOf(gate_home, session_id);
  return names.some((name) => lstatSync(join(tmp, name), { throwIfNoEntry: false }) !== undefined);
}

/** The files of `/tmp` that a command line names, relative to it. */
export function namedInTmp(command: string): string[] {
  const names = [...command.matchAll(NAMED)].map(([, name]) => name!)
    .filter((name) =>
      name.split("/").every((part) => part !== "" && part !== "." && part !== "..")
    );
  return [...new Set(names)].slice(0, MOST_NAMED);
}

/** The permission bits that let every user read a file, and enter a folder. */
const [READ_BY_ALL, ENTERED_BY_ALL] = [0o004, 0o001];

/**
 * Copies a plain file of this user from a folder to the same place below another one, unless a newer
 * one is there. Follows no link on either side, because agents can write there. Copies nothing if any
 * step fails, and nothing that other users cannot read: programs keep logins and cookies there.
 */
export function copyPlainFile(name: string, from: string, to: string): void {
  const parts = name.split("/");
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const fd = openSync(path, flags | constants.O_NOFOLLOW);
    opened.push(fd);
    return fd;
  };
  try {
    let source = open(from, constants.O_RDONLY | constants.O_DIRECTORY);
    let target = open(to, constants.O_RDONLY | constants.O_DIRECTORY);
    for (const part of parts.slice(0, -1)) {
      source = open(at(source, part), constants.O_RDONLY | constants.O_DIRECTORY);
      if ((fstatSync(source).mode & ENTERED_BY_ALL) === 0) return;
      makeFolder(at(target, part));
      target = open(at(target, part), constants.O_RDONLY | constants.O_DIRECTORY);
    }
    const last = parts.at(-1)!;
    const file = open(at(source, last), constants.O_RDONLY | constants.O_NONBLOCK);
    const { uid, nlink, size, mode, atime, mtime } = fstatSync(file);
    const isPlain = fstatSync(file).isFile() && nlink === 1 && uid === ownUid();
    if (!isPlain || size > MOST_COPIED || (mode & READ_BY_ALL) === 0) return;
    const there = lstatSync(at(target, last), { throwIfNoEntry: false });
    if (there !== undefined && there.mtime > mtime) return;
    const content = readFileSync(file);
    remove(at(target, last));
    const copy = openSync(at(target, last), "wx", mode & 0o777);
    opened.push(copy);
    writeFileSync(copy, content);
    futimesSync(copy, atime, mtime);
  } catch {
    // The command then sees no such file.
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

function at(fd: number, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") throw error;
  }
}
