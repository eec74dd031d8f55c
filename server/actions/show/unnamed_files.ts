import type { ActionDetail } from "../schema.ts";

/**
 * The files that the digest covers and that the card does not name, because a link leads there, or
 * because the shown path is wrong. Empty for a command, whose text is shown.
 */
export function unnamedFiles({ signed, command, path, root, changes }: ActionDetail): string[] {
  if (signed === null || command !== null) return [];
  const named = new Set(
    [path, ...changes.map(({ path }) => path)].map((one) => absolutePath(one, root)),
  );
  const covered = [...signed.changes, ...signed.accesses].map(({ path }) => path);
  return [...new Set(covered)].filter((one) => !named.has(absolutePath(one, root)));
}

/** A path of a card in full, with slashes. */
export function absolutePath(path: string | null, root: string): string | null {
  const plain = path?.replaceAll("\\", "/") ?? null;
  if (plain === null || /^(?:\/|[A-Za-z]:\/)/.test(plain)) return plain;
  return `${root.replaceAll("\\", "/").replace(/\/$/, "")}/${plain}`;
}
