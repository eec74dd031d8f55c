import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { GateError } from "../../errors.ts";
import type { PathFacts } from "../../policy/evaluate.ts";
import { OF_A_PROCESS } from "../../policy/path_rules.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import { hasTwins } from "../../shown/visible.ts";

/** A file that an input names, in the forms that policy and people need. */
export interface Target extends PathFacts {
  /** Relative inside the root, absolute outside it. */
  shown: string;
}

const MAX_PATH = 4095;
const MAX_NAME = 255;
const ON_WINDOWS = sep === "\\";

/**
 * Resolves a path of an agent. The path is literal: nothing in it is expanded or decoded.
 * @throws GateError `invalid` for a path that two programs could understand differently
 */
export function resolveTarget(path: string, root: string): Target {
  checkWritten(path);
  const absolute = isAbsolute(path) ? path : `${root}${sep}${path}`;
  const { lexical: given, real } = resolvePath(absolute);
  if (OF_A_PROCESS.test(given) || OF_A_PROCESS.test(real)) {
    throw unusable(path, "it names a file through a process; use the file's own path");
  }
  // The kernel follows the link in `link/../x`; most programs remove `link/..` first.
  if (given !== absolute && resolvePath(given).real !== real) {
    throw unusable(path, '".." after a link is ambiguous');
  }
  const lexical = isInside(real, root) ? belowRoot(given, root) : given;
  return { lexical, real, shown: shownPath(lexical, root) };
}

/**
 * Checks a path of a host's own tool as the agent wrote it: hosts expand some paths and trim others.
 * @throws GateError `invalid` for a path that gate and a host could understand differently
 */
export function checkHostPath(path: string): void {
  if (path !== path.trim()) throw unusable(path, "it begins or ends with a blank; leave it out");
  checkWritten(path);
}

function checkWritten(path: string): void {
  const problem = problemOf(path) ?? (ON_WINDOWS ? windowsProblemOf(path) : null);
  if (problem !== null) throw unusable(path, problem);
}

/** The path with the root's own name in front, if it came under another (`/private/tmp` for `/tmp`). */
function belowRoot(path: string, root: string): string {
  if (isInside(path, root)) return path;
  for (let at = path.indexOf(sep, 1); at > 0; at = path.indexOf(sep, at + 1)) {
    if (resolvePath(path.slice(0, at)).real === root) return root + path.slice(at);
  }
  return path;
}

/** The path for people: relative inside the root, absolute outside it. */
export function shownPath(path: string, root: string): string {
  // Folders of no project share the root of the file system, and a name below it would mislead.
  const isOfProject = dirname(root) !== root && isInside(path, root);
  return isOfProject ? relative(root, path).split(sep).join("/") : path;
}

/** Whether a path is the folder or below it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : join(folder, sep));
}

type Check = [problem: string, fails: (path: string) => boolean];

const CHECKS: Check[] = [
  ["it is empty", (path) => path.trim() === ""],
  ["it is not well-formed text", (path) => !path.isWellFormed()],
  [`it is longer than ${MAX_PATH} bytes`, (path) => sizeOf(path) > MAX_PATH],
  ["it contains control characters", (path) => /\p{Cc}|\p{Zl}|\p{Zp}/u.test(path)],
  [
    "it contains invisible characters",
    (path) => /\p{Default_Ignorable_Code_Point}|\p{Bidi_Control}|\p{Cf}/u.test(path),
  ],
  ["it contains letters that look like others", hasLookAlikes],
  [
    "it contains a backslash; separate folders with /",
    (path) => !ON_WINDOWS && path.includes("\\"),
  ],
  ["it looks like a URL", (path) => /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(path)],
  ["~ is not expanded; give the full path", (path) => /^~(\w[\w.-]*)?\/|^~$/.test(path)],
  [
    "variables are not expanded; give the full path",
    (path) => /^\$(\{[^}/]*\}|[A-Z_][A-Z0-9_]*)(\/|$)/.test(path),
  ],
  ["it names a folder", (path) => /(^|[\\/])\.{0,2}$/.test(path)],
  [`a name in it is longer than ${MAX_NAME} bytes`, (path) => names(path).some(isTooLong)],
  ["a name in it ends in a blank", (path) => names(path).some((name) => /\S\s+$/.test(name))],
  ["a name in it is blank", (path) => names(path).some((name) => name !== "" && !name.trim())],
];

function problemOf(path: string): string | null {
  return CHECKS.find(([, fails]) => fails(path))?.[0] ?? null;
}

/** Windows opens some names as devices, streams or differently named files. */
function windowsProblemOf(path: string): string | null {
  if (/^[\\/]{2}/.test(path)) return "it names another machine or a device";
  const rest = path.replace(/^[A-Za-z]:[\\/]/, "");
  if (rest.includes(":")) return "it contains a colon";
  for (const name of names(rest)) {
    if (/^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?$/i.test(name)) {
      return "it names a device";
    }
    if (/[. ]$/.test(name) && name !== "." && name !== "..") return "a name ends in a dot or blank";
    if (/~\d/.test(name)) return "it may be the short form of another name";
    if (/[<>"|?*]/.test(name)) return "it contains characters that Windows does not allow";
  }
  return null;
}

const LOOK_ALIKES = /[\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u13a0-\u13ff]/u;

/** Whether a word mixes Latin letters with those of other alphabets, or with other forms of its own. */
function hasLookAlikes(path: string): boolean {
  if (path.includes("\u017f")) return true; // the long s equals s on file systems that fold case
  const words = path.match(/[\p{L}\p{Nl}]+/gu) ?? [];
  return words.some((word) => (LOOK_ALIKES.test(word) && /[A-Za-z]/.test(word)) || hasTwins(word));
}

function names(path: string): string[] {
  return path.split(ON_WINDOWS ? /[\\/]/ : "/");
}

function isTooLong(name: string): boolean {
  return sizeOf(name) > MAX_NAME;
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function unusable(path: string, problem: string): GateError {
  const shown = JSON.stringify(path.toWellFormed().slice(0, 200));
  return new GateError("invalid", `Cannot use the path ${shown}: ${problem}`, {
    fields: { pointer: "/input/path" },
  });
}
