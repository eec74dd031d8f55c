import { diffArrays } from "diff";
import { applyEdits, modify, parse, type ParseError } from "jsonc-parser";
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { sayParseError } from "../server/config/load.ts";
import { CliError, reasonOf } from "./errors.ts";

/** The text of a file, or null if it does not exist. @throws CliError */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new CliError(`Cannot read "${path}": ${reasonOf(cause)}`);
  }
}

/** Copies a file to the `backups` folder of the gate's home; returns the path of the copy. */
export function backUp(path: string, home: string): string {
  const folder = join(home, "backups");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const copy = join(folder, `${stamp}-${basename(path)}`);
  copyFileSync(path, copy);
  chmodSync(copy, 0o600);
  return copy;
}

/** Replaces a file atomically and keeps its mode. @throws CliError for a symlink or a folder */
export function writeText(path: string, text: string, mode: number): void {
  const known = lstatSync(path, { throwIfNoEntry: false });
  if (known && !known.isFile()) {
    throw new CliError(
      `Cannot write "${path}": it is a symbolic link or a folder; ` +
        "move it away, then run the command again",
    );
  }
  const temporary = join(dirname(path), `.${basename(path)}.${Date.now()}.tmp`);
  try {
    writeFileSync(temporary, text, { flag: "wx", mode: known ? known.mode & 0o777 : mode });
    renameSync(temporary, path);
  } catch (cause) {
    throw new CliError(`Cannot write "${path}": ${reasonOf(cause)}`, {
      next: `make "${dirname(path)}" writable, then the same command`,
    });
  }
}

/** The object in a JSON text with comments. @throws CliError with line and column */
export function readConfig(text: string, file: string): Record<string, unknown> {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first) {
    const before = text.slice(0, first.offset).split("\n");
    const at = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
    throw new CliError(`Cannot read "${file}": ${sayParseError(first)} at ${at}`, {
      next: `correct ${file}, then the same command`,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CliError(`Cannot read "${file}": it does not hold a JSON object`);
  }
  return value as Record<string, unknown>;
}

/** One key of a config file, by its path, and its new value. */
export interface Wanted {
  path: (string | number)[];
  value: unknown;
}

/** The text with those keys set; comments, order and all other keys stay as they are. */
export function editConfig(text: string, wanted: Wanted[]): string {
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol: "\n" };
  return wanted.reduce(
    (current, { path, value }) =>
      applyEdits(current, modify(current, path, value, { formattingOptions })),
    text,
  );
}

const LINE_WIDTH = 100;

/** A new config as text: a value that fits on one line stands on one line. */
export function formatConfig(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => formatConfig(item, inner))
    : Object.entries(value).map(([key, item]) =>
      `${JSON.stringify(key)}: ${formatConfig(item, inner)}`
    );
  const [open, close, space] = Array.isArray(value) ? ["[", "]", ""] : ["{", "}", " "];
  if (parts.length === 0) return open + close;
  const line = open + space + parts.join(", ") + space + close;
  const fits = !line.includes("\n") && indent.length + line.length < LINE_WIDTH;
  // The outermost object always has one key a line.
  if (fits && indent !== "") return line;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
}

/** The removed (`- `) and added (`+ `) lines, in order, without the lines that stay. */
export function lineDiff(before: string, after: string): string[] {
  return diffArrays(before.split("\n"), after.split("\n"))
    .flatMap(({ added, removed, value }) =>
      added || removed ? value.map((line) => `${removed ? "-" : "+"} ${line}`) : []
    );
}
