import type { Use } from "../actions/native/call.ts";
import { textOrNull, type ToolKind } from "../hosts/hook_input.ts";
import { editUses } from "./edit_input.ts";
import { patchUses } from "./patch.ts";

/** Every name that a host has for a file: whichever it looks at, it has been judged. */
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

/** Where a call is made, and what its host calls the folder of a command. */
interface Around {
  cwd: string;
  folder_keys: readonly string[];
}

/** What a tool of that kind does with that input. @throws Error where nobody could tell */
export function usesOf(kind: ToolKind, input: Record<string, unknown>, around: Around): Use[] {
  switch (kind) {
    case "command":
      return commandUses(input, around);
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
      return usesOf(TEXT_EDITOR[String(input.command)] ?? "edit", input, around);
    case "read":
    case "search":
      return readUses(input, kind === "search");
    case "quiet":
      return [];
  }
}

const TEXT_EDITOR: Record<string, ToolKind> = { view: "read", create: "write" };

function commandUses(input: Record<string, unknown>, { cwd, folder_keys }: Around): Use[] {
  const { command } = input;
  const isWords = Array.isArray(command) && command.every((word) => typeof word === "string");
  const line = isWords ? command.map(quoted).join(" ") : textOrNull(command);
  if (line === null) throw new Error("its command is missing");
  const stray = WORKING_FOLDERS.find((name) =>
    textOrNull(input[name]) && !folder_keys.includes(name)
  );
  // A host that passes it over would run the command elsewhere than where it was judged.
  if (stray !== undefined) throw new Error(`its "${stray}" is no folder that its host knows`);
  const folders = textsIn(input, WORKING_FOLDERS);
  if (folders.length > 1) throw new Error("it names two folders to run in");
  const use: Use = { is: "command", command: line, cwd: joined(cwd, folders[0]) };
  // Codex carries out a patch in a command by itself: no program of that name ever runs.
  const patch = /^[ \t]*\*\*\* Begin Patch\s*$[^]*/m.exec(line)?.[0];
  const isPatch = patch !== undefined && /\bapply_?patch\b/.test(line);
  return isPatch ? [use, ...patchUses(patch)] : [use];
}

function writeUses(input: Record<string, unknown>): Use[] {
  const contents = textsIn(input, CONTENTS, "");
  const content = contents.length === 1 ? contents[0]! : null;
  return pathsIn(input).map((path) => ({ is: "write", path, from: path, make: () => content }));
}

function readUses(input: Record<string, unknown>, isSearch: boolean): Use[] {
  const named = [...textsIn(input, PATHS), ...textsIn(input, FOLDERS), ...listsIn(input)];
  const paths = named.length > 0 ? named : isSearch ? ["."] : [];
  if (paths.length === 0) throw new Error("it does not say which file");
  const filters = isSearch ? textsIn(input, ["glob", "include"]) : [];
  const inside = paths.flatMap((path) => filters.map((name) => `${path}/${name}`));
  // What looks like a pattern is judged by its letters too: `app/[id]/page.tsx` is a file's name.
  return [...paths, ...inside].map((path) => ({ is: "read", path }));
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

function quoted(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
