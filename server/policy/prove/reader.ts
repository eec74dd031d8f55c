import { STAR } from "./globs.ts";
import { type Span, Unproved } from "./proved.ts";

/** One word of a text. */
export interface Word {
  /** Without its quotes. An unquoted star is a `STAR`. */
  value: string;
  /** No quote and no backslash is in it. */
  is_bare: boolean;
  /** The variable that the whole word is; null for every other word. */
  variable: { name: string; is_quoted: boolean } | null;
  /** It has a mark that only a revision of git needs: `~` or `^` inside. */
  is_revision: boolean;
  span: Span;
}

/** An operator between commands; null at the end of the text. */
export type Operator = "&&" | "||" | ";" | "|" | "\n" | null;

const MOST_CHARACTERS = 65_536;
const MOST_PARTS = 1_000;
/** Letters, digits and signs that mean themselves in all shells, at every place of a word. */
const PLAIN = /[\w./:+,@%=\-\]\u00a1-\u{10ffff}]+/uy;
/** They mean themselves only as a whole word. */
const WHOLE = /(?:=|!=|\[|\{\}|!(?=[ \t\n]|$))(?=[\s;&|<>)]|$)/y;
const NAMED = /\$([A-Za-z_]\w*)(?=[\s;&|<>)]|$)|"\$([A-Za-z_]\w*)"(?=[\s;&|<>)]|$)/y;
const HOME = /~(?=[\s;&|<>)/]|$)/y;
/** Backslash and such a sign mean the sign in all shells. */
const ESCAPABLE = new Set("();*?[]{}$\"'\\&|<>#! ".split(""));
/** In these quotes fish reads some backslashes, and an option of zsh two quotes, in their own way. */
const SINGLE_QUOTED = /'([^'\\]*(?:\\(?![\\'])[^'\\]*)*)'(?!')/y;
/** No `$`, no backtick; a backslash before a quote, `$` or itself; `!` where no history is meant. */
const DOUBLE_QUOTED = /"([^"$`\\!]*(?:(?:!(?=[\s="])|\\["$\\]|\\[^"$\\`!\n])[^"$`\\!]*)*)"/y;
/** A text of several lines as one word, in the way that agents write a commit message. */
const QUOTED_LINES = /"\$\(cat <<'(\w+)'\n((?:[^'"`\\$\n]*\n)*?)\1\n[ \t]*\)"/y;
/** They end a word; the empty text is the end of all. */
const ENDS: ReadonlySet<string> = new Set(["", ..." \t\n;&|<>()"]);
/** They end the words and redirects of a command. */
const OPERATORS: ReadonlySet<string> = new Set(["", ..."\n;&|()"]);
const ASCII = /^[\t\n -~]*$/;
/** All but ASCII, its tab and its line feed: controls, unusual blanks, halves of characters. */
const ODD = /[^\t\n -~\u00a1-\u{10ffff}]|[^\P{C}\t\n]|[^\P{Z} ]/u;
const COMMENT = /#[#\w\t ./:+,@%=\-?*~^[\]{}\u00a1-\u{10ffff}]*(?=\n|$)/uy;

/** Reads the words and operators of a text; throws `Unproved` at what shells read differently. */
export class Reader {
  readonly text: string;
  at = 0;
  readonly #user_home: string;

  constructor(text: string, user_home: string) {
    this.text = text;
    this.#user_home = user_home;
    if (text.length > MOST_CHARACTERS) throw new Unproved("a very long text", [0, text.length]);
    const odd = ASCII.test(text) ? null : ODD.exec(text);
    if (odd) throw new Unproved("an unusual character", [odd.index, odd.index + odd[0].length]);
  }

  /** Refuses what begins at `from`. */
  refuse(reason: string, from = this.at): never {
    throw new Unproved(reason, [from, Math.max(this.at, from + 1)]);
  }

  /** The text at this place if the sticky expression matches it; it is then read. */
  take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.at;
    const found = expression.exec(this.text);
    if (found) this.at = expression.lastIndex;
    return found;
  }

  peek(length = 1): string {
    return length === 1 ? this.text.charAt(this.at) : this.text.substr(this.at, length);
  }

  /** Skips blanks, and a backslash at the end of a line after a blank. */
  skipBlanks(): void {
    for (;;) {
      while (this.peek() === " " || this.peek() === "\t") this.at++;
      if (this.peek() !== "\\" || this.peek(2) !== "\\\n") return;
      const before = this.text[this.at - 1];
      if (before !== " " && before !== "\t") this.refuse("a line that goes on inside a word");
      this.at += 2;
      if (this.take(/[ \t]*(?=[#\n])/y)) this.refuse("a line that goes on in an empty one");
    }
  }

  /** Skips blanks, empty lines and comments that are lines of their own. */
  skipLines(): void {
    for (;;) {
      this.skipBlanks();
      if (this.peek() === "#") this.#skipComment();
      if (this.peek() !== "\n") return;
      this.at++;
    }
  }

  #skipComment(): void {
    if (!this.take(COMMENT)) this.refuse("a comment with signs that a shell may read");
  }

  /** The operator at this place. */
  operator(): Operator {
    this.skipBlanks();
    const two = this.peek(2);
    if (two === "&&" || two === "||") {
      this.at += 2;
      return two;
    }
    const one = this.peek();
    if (one === "") return null;
    if (two === "|&") this.refuse('"|&"');
    if (two === ";;" || two === ";&") this.refuse(`"${two}"`);
    if (one === "&") this.refuse("a command in the background");
    if (one === "(" || one === ")") this.refuse("a subshell or a function");
    if (one !== ";" && one !== "|" && one !== "\n") this.refuse(`the sign "${one}"`);
    this.at++;
    return one;
  }

  /** Whether a word or a redirect begins at this place. */
  isInCommand(): boolean {
    this.skipBlanks();
    return !OPERATORS.has(this.peek());
  }

  /** The word at this place; empty if none begins here. */
  word(): Word {
    const from = this.at;
    const word: Word = {
      value: "",
      is_bare: true,
      variable: null,
      is_revision: false,
      span: [from, from],
    };
    const first = this.peek();
    const named = first === "$" || first === '"' ? this.take(NAMED) : null;
    const whole = !named && "=![{".includes(first) ? this.take(WHOLE) : null;
    if (named) {
      word.variable = { name: (named[1] ?? named[2])!, is_quoted: named[2] !== undefined };
    } else if (whole) word.value = whole[0];
    else if (first === "~" && this.take(HOME)) word.value = this.#user_home;
    else if (first === "=") this.refuse('a word that begins with "="');
    else if (first === "%" && this.peek(5) === "%self") {
      this.refuse('a word that begins with "%self"');
    }
    for (let parts = 0; !ENDS.has(this.peek()); parts++) {
      if (parts > MOST_PARTS) this.refuse("a word of very many parts", from);
      word.value += this.#part(word);
    }
    word.span = [from, this.at];
    return word;
  }

  #part(word: Word): string {
    const plain = this.take(PLAIN);
    if (plain) return plain[0];
    const char = this.peek();
    switch (char) {
      case "'":
      case '"':
      case "\\":
        word.is_bare = false;
        return this.#quoted(char);
      case "*":
        this.at++;
        return STAR;
      case "~":
      case "^":
        if (!/[\w~^]/.test(this.text[this.at - 1] ?? "")) this.refuse(`"${char}"`);
        word.is_revision = true;
        this.at++;
        return char;
    }
    if (this.peek(2) === "$(") this.refuse("command substitution");
    return this.refuse(REASONS[char] ?? `the sign "${char}"`);
  }

  #quoted(quote: string): string {
    const from = this.at;
    if (quote === "\\") {
      const char = this.text[this.at + 1] ?? "";
      if (!ESCAPABLE.has(char)) return this.refuse("a backslash that shells read differently");
      this.at += 2;
      return char;
    }
    const lines = this.take(QUOTED_LINES)?.[2]?.split("\n");
    if (lines) {
      if (lines.every(isTame)) return lines.join("\n").replace(/\n+$/, "");
      return this.refuse("a quoted text that shells read differently", from);
    }
    const found = this.take(quote === "'" ? SINGLE_QUOTED : DOUBLE_QUOTED);
    if (found) return quote === "'" ? found[1]! : found[1]!.replace(/\\(["$\\])/g, "$1");
    return this.refuse(this.#whyNotQuoted(quote), from);
  }

  #whyNotQuoted(quote: string): string {
    const rest = this.text.slice(this.at + 1);
    const end = rest.indexOf(quote);
    if (end === -1) return "a quote that is not closed";
    const inside = rest.slice(0, end);
    if (quote === '"' && /\$\(|`/.test(inside)) return "command substitution";
    if (quote === '"' && inside.includes("$")) return "a variable inside a word";
    return "a quoted text that shells read differently";
  }
}

const REASONS: Record<string, string> = {
  "$": "a variable inside a word",
  "`": "command substitution",
  "?": 'the glob "?"',
  "[": "a glob in brackets",
  "}": "braces",
  "{": "braces",
  "!": '"!"',
  "#": '"#" inside a line',
};

/** Old shells look for the end of `$(` inside the text, so each line closes what it opens. */
function isTame(line: string): boolean {
  let open = 0;
  for (const char of line) {
    if (char === "(") open++;
    if (char === ")" && --open < 0) return false;
  }
  return open === 0 && !/!(?![\s=]|$)/.test(line);
}
