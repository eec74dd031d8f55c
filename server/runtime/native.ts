import { createHash, randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { EMBEDDED, type EmbeddedFile } from "./embedded.ts";

/**
 * Loads the database's native library from the executable. The system loads libraries only from
 * files, so a copy lies in a folder that no other user can write, and its hash is checked at each
 * start.
 */
export function loadNativeLibrary(): unknown {
  if (!EMBEDDED) throw new Error("Cannot load the native library: none is embedded");
  const file = keepLibrary(EMBEDDED.library, join(gateHome(), "lib"));
  const holder = { exports: {} };
  (process as unknown as { dlopen(holder: object, file: string): void }).dlopen(holder, file);
  return holder.exports;
}

/**
 * Keeps a missing copy of the library in this home, for a process that starts the daemon: the pages
 * of the executable that the daemon would copy from would stay in its memory, 9 MB of them.
 */
export function prepareNativeLibrary(home: string): void {
  if (!EMBEDDED) return;
  const folder = join(home, "lib");
  if (!existsSync(fileOf(EMBEDDED.library, folder))) keepLibrary(EMBEDDED.library, folder);
}

/** The path of the library's copy, which is written when missing. @throws Error for an unsafe folder */
export function keepLibrary(library: EmbeddedFile, folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  refuseUnsafe(folder);
  const file = fileOf(library, folder);
  if (hashOf(file) !== library.sha256) writeWhole(file, readFileSync(library.file));
  if (hashOf(file) !== library.sha256) {
    throw new Error(`Cannot load the native library: "${file}" is not the library of this release`);
  }
  return file;
}

function fileOf({ sha256 }: EmbeddedFile, folder: string): string {
  return join(folder, `${sha256}.node`);
}

function gateHome(): string {
  return process.env["GATE_HOME"] || join(homedir(), ".gate");
}

function refuseUnsafe(folder: string): void {
  const stat = lstatSync(folder);
  if (!stat.isDirectory()) {
    throw new Error(`Cannot load the native library: "${folder}" is not a folder`);
  }
  if (process.platform === "win32") return;
  if (stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0) {
    throw new Error(
      `Cannot load the native library: others can write "${folder}"; run: chmod 700 "${folder}"`,
    );
  }
}

function hashOf(file: string): string | null {
  try {
    if (!lstatSync(file).isFile()) return null;
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}

function writeWhole(file: string, bytes: Uint8Array): void {
  const fresh = `${file}.${randomUUID()}`;
  const descriptor = openSync(fresh, "wx", 0o600);
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, file);
}
