import { quote } from "./quote.ts";

/** The analysis writes these for words that are known only at run time. */
const UNKNOWN = ["…", "$…"];

/** Whether a word of the analysis stands for one that is known only at run time. */
export function isUnknownWord(word: string): boolean {
  return UNKNOWN.includes(word);
}

/** A command as a person would type it. What is known only at run time keeps its sign. */
export function commandText(argv: readonly string[]): string {
  return argv.map((word) => isUnknownWord(word) ? word : quote(word)).join(" ");
}
