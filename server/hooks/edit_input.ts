import type { Use } from "../actions/native/call.ts";
import { MAX_IN_MEMORY } from "../actions/draft.ts";
import { isObject } from "../hosts/hook_input.ts";

/** One replacement, by whichever names the host has for its parts. */
interface Edit {
  old: string;
  new: string;
  all: boolean;
}

/** More letters than this are not looked through for the edits of one call. */
const MAX_READ = 64 * 1024 * 1024;

/** What an edit of that file writes: known where each old text stands there once. */
export function editUses(path: string, input: Record<string, unknown>): Use[] {
  const given = Array.isArray(input.edits) ? input.edits : [input];
  const edits = given.map(editOf);
  return [{ is: "write", path, from: path, make: (text) => madeOf(text, edits) }];
}

/** Null where only the host knows, or where it takes too long to find out. */
function madeOf(text: string | null, edits: readonly (Edit | null)[]): string | null {
  let now = text;
  let read = 0;
  for (const [i, edit] of edits.entries()) {
    read += now?.length ?? 0;
    if (edit === null || read > MAX_READ) return null;
    now = applied(now, edit, i === 0);
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

/** Null where the host may see it otherwise. */
function applied(text: string | null, edit: Edit, isFirst: boolean): string | null {
  if (edit.old === "") return text === null && isFirst ? edit.new : null;
  if (text === null) return null;
  const parts = text.split(edit.old);
  const times = parts.length - 1;
  if (times === 0 || (times > 1 && !edit.all)) return null;
  const length = text.length + times * (edit.new.length - edit.old.length);
  return length > MAX_IN_MEMORY ? null : parts.join(edit.new);
}
