/** More words than this narrow a search no further. */
const MOST_WORDS = 16;

/** A query for FTS5. */
export interface Match {
  text: string;
  /** It follows one list of the index; otherwise several are compared. */
  isOne: boolean;
}

/**
 * What was typed as a query for FTS5: every word has to stand there, and nothing of it is an
 * operator; null where there is no word in it.
 */
export function toMatch(typed: string): Match | null {
  const words = typed.replaceAll("\0", " ").toWellFormed().split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).slice(0, MOST_WORDS);
  if (words.length === 0) return null;
  return {
    text: words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" "),
    isOne: words.length === 1 && /^[\p{L}\p{N}]+$/u.test(words[0]!),
  };
}
