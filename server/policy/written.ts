import { baseName, SHELLS } from "./programs/grammar.ts";

/** A longer text is read up to here. */
const MOST_TEXT = 1_048_576;

/** One word of a text. A text has many, so its value is cut out on demand. */
export interface Spelt {
  from: number;
  to: number;
  /** The value of a word with quotes or escapes; null if it is the text itself. */
  value: string | null;
}

/** One simple command as a text spells it: its words, and the targets of its redirects. */
export interface Written {
  from: number;
  words: Spelt[];
  targets: Spelt[];
}

/**
 * Calls `visit` with each simple command that a text spells, in one pass whose cost grows with the
 * text alone. Nothing is expanded, and code in quotes is a word. It errs towards too many commands.
 */
export function readWritten(text: string, visit: (one: Written) => void): void {
  const end = Math.min(text.length, MOST_TEXT);
  const heredocs: string[] = [];
  let announced = 0;
  let one: Written = { from: 0, words: [], targets: [] };
  let is_target = false;
  /** The start of the current word, or -1; the start of its last part, and the parts before. */
  let [from, part] = [-1, -1];
  let known: string | null = null;
  const endWord = (at: number) => {
    if (from < 0) return;
    const value = known === null ? null : known + text.slice(part, at);
    (is_target ? one.targets : one.words).push({ from, to: at, value });
    from = -1;
    known = null;
    is_target = false;
  };
  /** Ends a part of the word at `at`; the next one begins at `next`. */
  const endPart = (at: number, next: number, between: string) => {
    known = (from < 0 ? "" : (known ?? "") + text.slice(known === null ? from : part, at)) +
      between;
    if (from < 0) from = at;
    part = next;
  };
  const endCommand = (at: number) => {
    endWord(at);
    is_target = false;
    if (one.words.length + one.targets.length === 0) {
      one.from = at + 1;
      return;
    }
    visit(one);
    one = { from: at + 1, words: [], targets: [] };
  };
  for (let at = 0; at < end; at++) {
    switch (text.charCodeAt(at)) {
      case BLANK:
      case TAB:
        endWord(at);
        break;
      case LINE_FEED:
        endCommand(at);
        if (heredocs.length > 0) at = behind(heredocs, text, at);
        break;
      case SEMICOLON:
      case AND:
      case BAR:
      case BACKTICK:
      case ROUND:
      case ROUND_END:
        endCommand(at);
        break;
      case QUOTE:
      case DOUBLE_QUOTE: {
        const close = text.indexOf(text[at]!, at + 1);
        if (close < 0) break;
        endPart(at, close + 1, text.slice(at + 1, close));
        at = close;
        break;
      }
      case BACKSLASH:
        endPart(at, text.charCodeAt(at + 1) === LINE_FEED ? at + 2 : at + 1, "");
        at++;
        break;
      case LESS:
      case GREATER: {
        endWord(at);
        const delimiter = delimiterAt(text, at);
        if (delimiter !== null && announced++ < MOST_HEREDOCS && !isShell(one, text)) {
          heredocs.push(delimiter);
        }
        while (REDIRECTS.has(text.charCodeAt(at + 1))) at++;
        is_target = true;
        break;
      }
      case HASH:
        if (from < 0) at = (text.indexOf("\n", at) + 1 || end + 1) - 2;
        break;
      default:
        if (from < 0) from = at;
    }
  }
  endCommand(end);
}

/** The value of a word. */
export function valueOf({ from, to, value }: Spelt, text: string): string {
  return value ?? text.slice(from, to);
}

const [TAB, LINE_FEED, BLANK, DOUBLE_QUOTE, HASH, AND, QUOTE] = [9, 10, 32, 34, 35, 38, 39];
const [ROUND, ROUND_END, SEMICOLON, LESS, GREATER, BACKSLASH] = [40, 41, 59, 60, 62, 92];
const [BACKTICK, BAR] = [96, 124];
/** The signs that may follow the first one of a redirect: `<`, `>`, `&`, `|`, `!`. */
const REDIRECTS = new Set([LESS, GREATER, AND, BAR, 33]);

/** Whether the here-document of a command is code. */
function isShell({ words }: Written, text: string): boolean {
  return words.slice(0, 8).some((word) => SHELLS.has(baseName(valueOf(word, text))));
}

const HEREDOC = /<<-?[ \t]*(["']?)([\w.-]+)\1/y;
/** The here-documents beyond these count as commands. */
const MOST_HEREDOCS = 64;

/** The word that ends a here-document, if one is announced here. */
function delimiterAt(text: string, at: number): string | null {
  if (text.charCodeAt(at + 1) !== LESS) return null;
  HEREDOC.lastIndex = at;
  return HEREDOC.exec(text)?.[2] ?? null;
}

/** The end of the here-documents that begin behind this line feed; they are no commands. */
function behind(delimiters: string[], text: string, start: number): number {
  let at = start;
  for (const delimiter of delimiters.splice(0)) {
    const line = `\n${delimiter}`;
    let found = text.indexOf(line, at);
    while (found >= 0 && /[^\n]/.test(text[found + line.length] ?? "")) {
      found = text.indexOf(line, found + 1);
    }
    if (found >= 0) at = found + line.length;
  }
  return at;
}
