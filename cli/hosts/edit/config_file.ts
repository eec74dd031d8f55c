import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { GateError } from "../../../server/errors.ts";
import { applyChange } from "../../../server/runtime/files.ts";
import { openHome } from "../../../server/runtime/home.ts";
import { CliError, reasonOf } from "../../errors.ts";

/** The content of a file when gate read it; gate replaces the file only while its hash is the same. */
export interface ConfigFile {
  /** The path that a person knows. */
  path: string;
  /** The path after all symbolic links. */
  real: string;
  /** Without the byte order mark; null for a missing file. */
  text: string | null;
  has_bom: boolean;
  sha256: string | null;
}

const MAX_BYTES = 64 * 1024 * 1024;
const BOM = "\uFEFF";

/** Reads a file through symbolic links; it may be missing. @throws CliError */
export function openConfig(path: string): ConfigFile {
  const real = realPath(path);
  const stats = statSync(real, { throwIfNoEntry: false });
  if (!stats) return { path, real, text: null, has_bom: false, sha256: null };
  if (!stats.isFile()) throw unreadable(path, "it is no plain file", MOVE);
  if (stats.size > MAX_BYTES) throw unreadable(path, "it is larger than 64 MiB", MOVE);
  const bytes = readBytes(path, real);
  const whole = decode(path, bytes);
  const has_bom = whole.startsWith(BOM);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { path, real, text: has_bom ? whole.slice(1) : whole, has_bom, sha256 };
}

const MOVE = "move it away";

function unreadable(path: string, why: string, fix: string): CliError {
  return new CliError(`Cannot read "${path}": ${why}`, { next: `${fix}, then the same command` });
}

/** Reads a file of a project. @throws CliError when a link leads out of the project */
export function openInProject(root: string, path: string): ConfigFile {
  const file = openConfig(join(root, path));
  if (file.real.startsWith(realFolder(root) + sep)) return file;
  throw new CliError(`Cannot use "${file.path}": it leads out of the project to "${file.real}"`);
}

/**
 * Backs up a file and replaces it atomically. Links, mode and byte order mark stay. Returns the path
 * of the backup. @throws CliError for a read-only file, GateError `conflict` when it has changed
 */
export async function saveConfig(
  file: ConfigFile,
  text: string,
  backups: Backups,
  mode = 0o600, // such files may hold secrets later
): Promise<string | null> {
  refuseReadOnly(file);
  const backup = file.sha256 === null ? null : backUp(file, backups);
  const content = new TextEncoder().encode((file.has_bom ? BOM : "") + text);
  await applyChange({
    path: file.real,
    before: file.sha256,
    after: { content, mode: file.sha256 === null ? mode : null },
    temporary: `.${basename(file.real)}.${crypto.randomUUID().slice(0, 8)}.tmp`,
  }).catch((error) => {
    if (error instanceof GateError) throw error;
    throw new CliError(`Cannot change "${file.path}": ${reasonOf(error)}`, {
      next: `make "${dirname(file.real)}" writable, then the same command`,
    });
  });
  return backup;
}

const TRIES = 3;

/** Retries when the file changed between the read and the write, because hosts write it too. */
export async function retryOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let n = 1;; n++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof GateError) || error.code !== "conflict" || n === TRIES) throw error;
    }
  }
}

/** The gate's home, which keeps the backups, and a label for their names. */
export interface Backups {
  home: string;
  label: string;
}

/** Copies a file to a unique name. Returns the path of the copy. */
export function backUp({ real, path }: ConfigFile, { home, label }: Backups): string {
  openHome(home);
  const folder = join(home, "backups");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const content = readFileSync(real);
  for (let n = 0;; n++) {
    const copy = join(folder, `${stamp}-${label}${n ? `-${n}` : ""}-${basename(path)}`);
    try {
      writeFileSync(copy, content, { flag: "wx", mode: 0o600 });
      return copy;
    } catch (error) {
      if (!existsSync(copy) || n > 1000) throw error;
    }
  }
}

/** @throws CliError when the file is read-only for its owner */
export function refuseReadOnly({ path, real, sha256 }: ConfigFile): void {
  if (sha256 === null || statSync(real).mode & 0o200) return;
  throw new CliError(`Cannot change "${path}": it is read-only`, { next: `chmod u+w "${real}"` });
}

const MAX_LINKS = 40;

/** The path after all symbolic links; the target of the last link may be missing. */
function realPath(path: string): string {
  let at = resolve(path);
  for (let links = 0; links < MAX_LINKS; links++) {
    at = join(realFolder(dirname(at)), basename(at));
    if (!lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) return at;
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw unreadable(path, "its links lead in a circle", MOVE);
}

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    const parent = dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === folder) {
      throw new CliError(`Cannot read "${folder}": ${(error as Error).message}`);
    }
    return join(realFolder(parent), basename(folder));
  }
}

function readBytes(path: string, real: string): Uint8Array {
  try {
    return readFileSync(real);
  } catch (error) {
    throw new CliError(`Cannot read "${path}": ${(error as Error).message}`);
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(path, "it is not UTF-8", "save it as UTF-8");
  }
}
