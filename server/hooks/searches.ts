import type { Use } from "../actions/submit/native.ts";
import type { Searched } from "../policy/request.ts";

/** The keys under which hosts limit a search to names of files. */
const FILTERS = ["glob", "include", "include_pattern", "glob_pattern", "globs"];

/**
 * The files that a search of a host reads: hidden ones too, and ignored ones only if a glob asks for
 * them. A filter that is not the plain glob of a name counts as every file.
 */
export function searchedBy(input: Record<string, unknown>): Searched {
  const globs = FILTERS.flatMap((name) => input[name] ?? []).filter((one) =>
    typeof one === "string"
  ).flatMap(piecesOf);
  const wanted = globs.filter((glob) => !glob.startsWith("!"));
  const skips = globs.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1));
  const only = wanted.map(namesOf);
  return {
    ...onlyOf(only),
    // A glob that follows may take a name back.
    skips: wanted.length > 0 ? [] : skips.filter((glob) => PLAIN_NAME.test(glob)),
    obeys_ignores: wanted.length === 0 && !isTrue(input.no_ignore),
    follows_links: false,
  };
}

/** The files that each of these globs finds: dotted ones too, and what the links among them lead to. */
export function manyReads(globs: readonly string[], input: Record<string, unknown>): Use[] {
  const options = input.file_filtering_options as Record<string, unknown> | null | undefined;
  const obeys_ignores = options?.respect_git_ignore !== false;
  return globs.flatMap((glob): Use[] => {
    const parts = glob.split("/");
    const first = parts.findIndex((part) => !FIXED.test(part));
    const rest = first < 0 ? [] : parts.slice(first);
    const folder = first < 0 ? glob : parts.slice(0, first).join("/");
    const below = {
      ...onlyOf(rest.length > 0 ? [namesOf(rest.join("/"))] : []),
      ...{ skips: [], obeys_ignores, follows_links: true },
    };
    const path = first === 0 ? "." : folder === "" ? "/" : folder;
    const search: Use = { is: "read", path, below };
    return first < 0 ? [search] : [search, { is: "read", path: glob }];
  });
}

/** A part of a path that no reader of globs takes for a pattern. */
const FIXED = /^[^*?[\]{}()!+@|\\]*$/;

/** A glob of a name that all readers of globs understand in the same way. */
const PLAIN_NAME = /^[\w.*?-]+$/;

/** The last names of a glob, which all its files have; null if they are not certain. */
function namesOf(glob: string): string[] | null {
  const last = glob.slice(glob.lastIndexOf("/") + 1);
  const [, head, words, tail] = /^([^{}]*)\{([^{}]*)\}([^{}]*)$/.exec(last) ?? [];
  const names = words === undefined ? [last] : words.split(",").map((word) => head + word + tail);
  if (glob.includes("{") && words === undefined) return null;
  return names.every((name) => PLAIN_NAME.test(name) && name !== "**") ? names : null;
}

function onlyOf(found: readonly (string[] | null)[]): Pick<Searched, "only" | "is_vague"> {
  if (found.includes(null)) return { only: [], is_vague: true };
  return { only: found.flatMap((names) => names ?? []), is_vague: false };
}

/** Hosts split a text of several globs at blanks, and at commas outside of braces. */
function piecesOf(text: string): string[] {
  return text.split(/\s+/).flatMap((piece) => piece.includes("{") ? [piece] : piece.split(","))
    .filter((piece) => piece !== "");
}

function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}
