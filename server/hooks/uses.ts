import { MAX_IN_MEMORY } from "../actions/contents.ts";
import { splitText } from "../actions/find_text.ts";
import type { Use } from "../actions/submit/native.ts";
import { isObject, textOrNull, type ToolKind } from "../hosts/hook_input.ts";
import { patchUses } from "./patch.ts";
import { quote } from "../shown/quote.ts";
import { manyReads, searchedBy } from "./searches.ts";

/** The keys under which hosts name a file. Policy evaluates all, whichever the host reads. */
const PATHS = [
  "file_path",
  "path",
  "filePath",
  "absolute_path",
  "target_file",
  "target_notebook",
  "notebook_path",
  "relative_workspace_path",
];
const FOLDERS = ["dir_path", "directory", "target_directory", "target_directories"];
const LISTS = ["paths", "include", "file_paths"];
const CONTENTS = ["content", "contents", "file_text"];
const WORKING_FOLDERS = ["cwd", "workdir", "working_directory", "dir_path", "directory"];

/** The working folder of a call, and the keys by which its host names the folder of a command. */
interface CallPlace {
  cwd: string;
  folder_keys: readonly string[];
}

/** The uses of a tool of that kind with that input. @throws Error for an unclear input */
export function usesOf(kind: ToolKind, input: Record<string, unknown>, place: CallPlace): Use[] {
  switch (kind) {
    case "command":
      return commandUses(input, place);
    case "patch":
      return patchUses(patchIn(input));
    case "write":
      return writeUses(input);
    case "edit":
      return pathsIn(input).flatMap((path) => editUses(path, input));
    case "notebook":
      return pathsIn(input).map((path) => ({ is: "write", path, from: path, make: () => null }));
    case "delete":
      return pathsIn(input).map((path) => ({ is: "delete", path }));
    case "text_editor":
      return usesOf(TEXT_EDITOR[String(input.command)] ?? "edit", input, place);
    case "read":
      return readsOf(pathsToRead(input, null));
    case "read_many":
      return manyReads(pathsToRead(input, null), input);
    case "list":
      return listUses(input);
    case "search":
      return searchUses(input);
    case "quiet":
      return [];
  }
}

const TEXT_EDITOR: Record<string, ToolKind> = { view: "read", create: "write" };

function commandUses(input: Record<string, unknown>, { cwd, folder_keys }: CallPlace): Use[] {
  const { command } = input;
  const isWords = Array.isArray(command) && command.every((word) => typeof word === "string");
  const line = isWords ? command.map(quote).join(" ") : textOrNull(command);
  if (line === null) throw new Error("its command is missing");
  const stray = WORKING_FOLDERS.find((name) =>
    textOrNull(input[name]) && !folder_keys.includes(name)
  );
  // The host would ignore the key and run the command in another folder than policy evaluated.
  if (stray !== undefined) throw new Error(`its "${stray}" is not a folder that its host knows`);
  const folders = textsIn(input, WORKING_FOLDERS);
  if (folders.length > 1) throw new Error("it names two folders to run in");
  if (folders.some((folder) => /^[~$]|^\s|\s$/.test(folder))) {
    throw new Error("its host may expand the name of its folder; give the full path");
  }
  const use: Use = { is: "command", command: line, cwd: joined(cwd, folders[0]) };
  // Codex applies a patch in a command itself, without a program of that name.
  const patch = /^[ \t]*\*\*\* Begin Patch\s*$[^]*/m.exec(line)?.[0];
  const isPatch = patch !== undefined && /\bapply_?patch\b/.test(line);
  return isPatch ? [use, ...patchUses(patch)] : [use];
}

function writeUses(input: Record<string, unknown>): Use[] {
  const contents = textsIn(input, CONTENTS, "");
  const content = contents.length === 1 ? contents[0]! : null;
  return pathsIn(input).map((path) => ({ is: "write", path, from: path, make: () => content }));
}

/** One replacement of text. */
interface Edit {
  old: string;
  new: string;
  all: boolean;
}

/** The most characters that gate searches for the edits of one call. */
const MAX_READ = 64 * 1024 * 1024;

/** The write of an edit. The new text is known when each old text occurs once. */
function editUses(path: string, input: Record<string, unknown>): Use[] {
  const given = Array.isArray(input.edits) ? input.edits : [input];
  const edits = given.map(editOf);
  return [{ is: "write", path, from: path, make: (text) => textAfter(text, edits) }];
}

/** The text after all edits; null when only the host knows it, or when the search is too long. */
function textAfter(text: string | null, edits: readonly (Edit | null)[]): string | null {
  let now = text;
  let read = 0;
  for (const [i, edit] of edits.entries()) {
    read += now?.length ?? 0;
    if (edit === null || read > MAX_READ) return null;
    now = applyEdit(now, edit, i === 0);
    if (now === null) return null;
  }
  return now;
}

function editOf(given: unknown): Edit | null {
  if (!isObject(given)) return null;
  const old = given.old_string ?? given.old_str ?? given.oldText;
  const now = given.new_string ?? given.new_str ?? given.newText;
  if (typeof old !== "string" || typeof now !== "string") return null;
  const count = given.expected_replacements;
  const all = given.replace_all === true || (typeof count === "number" && count > 1);
  return { old, new: now, all };
}

/** The text after one edit; null when the host may apply it differently. */
function applyEdit(text: string | null, edit: Edit, isFirst: boolean): string | null {
  if (edit.old === "") return text === null && isFirst ? edit.new : null;
  if (text === null) return null;
  const parts = splitText(text, edit.old);
  const times = parts.length - 1;
  if (times === 0 || (times > 1 && !edit.all)) return null;
  const length = text.length + times * (edit.new.length - edit.old.length);
  return length > MAX_IN_MEMORY ? null : parts.join(edit.new);
}

/** A path may look like a pattern: `app/[id]/page.tsx` is the name of a file. */
function readsOf(paths: readonly string[]): Use[] {
  return paths.map((path) => ({ is: "read", path }));
}

/** The names of files in folders. */
function listUses(input: Record<string, unknown>): Use[] {
  const paths = pathsToRead(input, ".");
  const filters = textsIn(input, ["glob", "include"]);
  return readsOf([...paths, ...paths.flatMap((path) => filters.map((name) => `${path}/${name}`))]);
}

function searchUses(input: Record<string, unknown>): Use[] {
  const below = searchedBy(input);
  const found: Use[] = pathsToRead(input, ".").map((path) => ({ is: "read", path, below }));
  return [...found, ...listUses(input).slice(found.length)];
}

/** @throws Error if the input names none and the tool has no default */
function pathsToRead(input: Record<string, unknown>, default_path: string | null): string[] {
  const named = [...textsIn(input, PATHS), ...textsIn(input, FOLDERS), ...listsIn(input)];
  const paths = named.length > 0 || default_path === null ? named : [default_path];
  if (paths.length === 0) throw new Error("it does not say which file");
  return paths;
}

function pathsIn(input: Record<string, unknown>): string[] {
  const paths = [...new Set(textsIn(input, PATHS))];
  if (paths.length === 0) throw new Error("it does not say which file");
  return paths;
}

function patchIn(input: Record<string, unknown>): string {
  const [patch, ...more] = textsIn(input, ["command", "input", "patch"]);
  if (patch === undefined || more.length > 0) throw new Error("its patch is missing");
  return patch;
}

function textsIn(input: Record<string, unknown>, names: string[], least?: string): string[] {
  return names.map((name) => input[name]).filter((value): value is string =>
    typeof value === "string" && (value !== "" || least === "")
  );
}

function listsIn(input: Record<string, unknown>): string[] {
  const lists = [...LISTS, ...FOLDERS].flatMap((name) => {
    const value = input[name];
    return Array.isArray(value) ? value : [];
  });
  return lists.filter((one) => typeof one === "string");
}

function joined(cwd: string, folder: string | undefined): string {
  if (folder === undefined) return cwd;
  return /^([\\/]|[A-Za-z]:[\\/])/.test(folder) ? folder : `${cwd}/${folder}`;
}
