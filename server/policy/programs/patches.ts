import { ANY, isWild } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";

/** A line that names a file which the patch changes, in the formats of diff and git. */
const HEADER =
  /^(?:---|\+\+\+|\*\*\*|Index:|(?:rename|copy) (?:from|to)|diff --git) +([^\t\r\n]+)/gm;

/** A mail may contain the patch in another form. */
const ENCODED = /^Content-Transfer-Encoding:\s*(?!7bit|8bit|binary)/im;

/**
 * The files that a patch may change. A program leaves out some folders at the front of a name, so each
 * shorter name counts as well.
 */
export function filesOfPatch(text: string): string[] {
  if (isWild(text) || ENCODED.test(text)) return [ANY];
  const names = [...text.matchAll(HEADER)].flatMap(([line, rest]) =>
    line.startsWith("diff") ? rest!.split(" ") : [rest!]
  );
  // A name in quotes may be written in escapes.
  if (names.some((name) => name.startsWith('"'))) return [ANY];
  return [...new Set(names.filter((name) => name !== "/dev/null").flatMap(shorter))];
}

function shorter(name: string): string[] {
  const parts = name.trim().split("/");
  return parts.map((_, at) => parts.slice(at).join("/")).filter(Boolean);
}

/** Records writes of the files that a patch names: a file, or the input for null and `-`. */
export function touchPatch(
  path: string | null,
  call: Call,
  run: Runner,
  folders: readonly string[] = [],
): void {
  const starts = folders.length > 0 ? folders.map((folder) => `${folder}/`) : [""];
  const isInput = path === null || path === "-";
  const file = isInput ? (call.stdin === ANY ? call.source : null) : path;
  const text = isInput ? call.stdin : run.content(path, call);
  if (file != null && (isInput || text === null)) {
    const holds = { as: "patch", program: "", starts } as const;
    run.touch("read", file, call, { implied: true, holds });
  } else if (isWild(text ?? "")) {
    run.doubt("the patch may change any file", call.text, call, "files");
  } else {
    for (const name of filesOfPatch(text ?? "")) {
      for (const start of starts) {
        run.touch("write", `${start}${name}`, call, { implied: true });
      }
    }
  }
}
