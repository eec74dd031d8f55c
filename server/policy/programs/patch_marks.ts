/** A line of a patch of Codex that names a file. */
export interface PatchMark {
  kind: "Add File" | "Update File" | "Delete File" | "Move to";
  path: string;
}

/** Rust trims U+0085 too, JavaScript U+FEFF: any reader of the patch counts. */
const trimmed = (line: string) => line.replace(/^[\s\u0085]+|[\s\u0085]+$/g, "");

/** Any character may stand in a name, also one that JavaScript takes for the end of a line. */
const NAMES = /^\*\*\* (Add File|Update File|Delete File|Move to): ([^]*)$/;
const BETWEEN = /^\*\*\* (Begin Patch|End Patch|End of File)$/;

/**
 * The mark of this line of a patch; null if it is no mark. @throws Error for a mark that Codex does
 * not know, or a name that readers trim in different ways
 */
export function patchMark(line: string): PatchMark | null {
  const text = trimmed(line);
  const [, kind, path] = NAMES.exec(text) ?? [];
  if (kind && /^\S/.test(path!)) return { kind: kind as PatchMark["kind"], path: path! };
  const isMark = kind !== undefined || line.startsWith("***");
  if (isMark && !BETWEEN.test(text)) {
    throw new Error("its patch has a line that Codex does not know");
  }
  return null;
}

/** The files that a patch names; null if it is not wholly one that Codex reads. */
export function patchMarks(patch: string): PatchMark[] | null {
  const lines = patch.split("\n");
  if (!lines.some((line) => trimmed(line) === "*** Begin Patch")) return null;
  try {
    return lines.map(patchMark).filter((mark) => mark !== null);
  } catch {
    return null;
  }
}
