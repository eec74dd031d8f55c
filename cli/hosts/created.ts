import { rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Format } from "../../server/hosts/host.ts";
import { openHome } from "../../server/runtime/home.ts";
import { readText, writeText } from "../config_file.ts";
import { type Backups, type ConfigFile, openConfig, saveConfig } from "./edit/config_file.ts";
import { isRecord } from "./edit/text_editor.ts";
import { EDITORS } from "./hosts.ts";

/** The form of a host's file. */
interface Form {
  format: Format;
  /** The keys without which the host does not read the file. */
  frame?: Record<string, unknown>;
}

/** Replaces a host's file as `saveConfig` does, and remembers a file that gate creates. */
export async function saveHostFile(
  file: ConfigFile,
  text: string,
  backups: Backups,
): Promise<string | null> {
  const backup = await saveConfig(file, text, backups);
  if (file.sha256 === null) noteCreated(backups.home, file.real);
  return backup;
}

/** Remembers that gate created a host's file; `real` is its path after all symbolic links. */
export function noteCreated(home: string, real: string): void {
  writeCreated(home, [...new Set([...readCreated(home), real])]);
}

/** Deletes a host's file that gate created, once it holds no setting and no comment. */
export function deleteLeftOver(path: string, home: string, form: Form): void {
  const { real, text } = openConfig(path);
  if (text === null || !isHollow(text, path, form)) return;
  const created = readCreated(home);
  const isRecorded = created.includes(real);
  // A gate without the record created files of this name too.
  if (!isRecorded && !/[\\/]gate\.json$/.test(real)) return;
  rmSync(real);
  if (isRecorded) writeCreated(home, created.filter((one) => one !== real));
}

/** The sign of a comment in JSON or TOML; a key that holds one keeps its file, too. */
const COMMENT = /#|\/[/*]/;

function isHollow(text: string, path: string, { format, frame = {} }: Form): boolean {
  if (COMMENT.test(text)) return false;
  const document = EDITORS[format].read(text, path);
  return Object.entries(document).every(([key, value]) =>
    Object.hasOwn(frame, key) || isEmpty(value)
  );
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isEmpty);
  return isRecord(value) && !(value instanceof Date) && Object.values(value).every(isEmpty);
}

const Paths = z.array(z.string());

/** The files that gate created. A damaged record names none, and then their files stay. */
function readCreated(home: string): string[] {
  try {
    return Paths.parse(JSON.parse(readText(recordPath(home)) ?? "[]"));
  } catch {
    return [];
  }
}

function writeCreated(home: string, paths: readonly string[]): void {
  openHome(home);
  writeText(recordPath(home), `${JSON.stringify(paths, null, 2)}\n`, 0o600);
}

function recordPath(home: string): string {
  return join(home, "created_files.json");
}
