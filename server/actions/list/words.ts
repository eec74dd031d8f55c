/** More words than this narrow a search no further. */
const MOST_WORDS = 16;

/**
 * What was typed as a query for FTS5: every word has to stand there, and nothing of it is an
 * operator; null where there is no word in it.
 */
export function toMatch(typed: string): string | null {
  const words = typed.replaceAll("\0", " ").toWellFormed().split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).slice(0, MOST_WORDS);
  if (words.length === 0) return null;
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" ");
}
