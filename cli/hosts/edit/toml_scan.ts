/** One `key = value` of a document, by offsets into its text. */
export interface TomlPair {
  key: string[];
  start: number;
  value_start: number;
  value_end: number;
}

/** A table with its own pairs; the first table has no header and is the top of the document. */
export interface TomlTable {
  path: string[];
  is_array: boolean;
  start: number;
  header_end: number;
  pairs: TomlPair[];
}

/** The offsets of all tables and pairs in a valid TOML document. */
export function scanToml(text: string): TomlTable[] {
  const tables: TomlTable[] = [
    { path: [], is_array: false, start: 0, header_end: 0, pairs: [] },
  ];
  let at = 0;
  while ((at = skipBlank(text, at)) < text.length) {
    if (text[at] === "[") {
      const table = scanHeader(text, at);
      tables.push(table);
      at = table.header_end;
    } else {
      const pair = scanPair(text, at);
      tables.at(-1)!.pairs.push(pair);
      at = pair.value_end;
    }
  }
  return tables;
}

/** The end of the line of an offset, before its line break. */
export function endOfLine(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  if (newline < 0) return text.length;
  return text[newline - 1] === "\r" && newline - 1 >= at ? newline - 1 : newline;
}

function scanHeader(text: string, start: number): TomlTable {
  const is_array = text[start + 1] === "[";
  const { key, end } = scanKey(text, start + (is_array ? 2 : 1));
  const close = text.indexOf("]", end) + (is_array ? 2 : 1);
  return { path: key, is_array, start, header_end: close, pairs: [] };
}

function scanPair(text: string, start: number): TomlPair {
  const { key, end } = scanKey(text, start);
  const value_start = skipSpaces(text, text.indexOf("=", end) + 1);
  return { key, start, value_start, value_end: endOfValue(text, value_start) };
}

function scanKey(text: string, start: number): { key: string[]; end: number } {
  const key: string[] = [];
  let at = start;
  for (;;) {
    at = skipSpaces(text, at);
    const end = isQuote(text[at]) ? endOfString(text, at) : endOfBare(text, at);
    const word = text.slice(at, end);
    key.push(unquote(word));
    const next = skipSpaces(text, end);
    if (text[next] !== "." || end <= at) return { key, end };
    at = next + 1;
  }
}

function unquote(word: string): string {
  if (word.startsWith("'")) return word.slice(1, -1);
  if (!word.startsWith('"')) return word;
  const json = word.replace(
    /\\U([0-9A-Fa-f]{8})/g,
    (_, hex) => String.fromCodePoint(parseInt(hex, 16)),
  );
  try {
    return JSON.parse(json) as string;
  } catch {
    return word.slice(1, -1);
  }
}

function endOfValue(text: string, at: number): number {
  if (isQuote(text[at])) return endOfString(text, at);
  if (text[at] === "[" || text[at] === "{") return endOfBrackets(text, at);
  const end = at + /^[^\n#,\]}]*/.exec(text.slice(at, at + 400))![0].trimEnd().length;
  return Math.max(end, at + 1);
}

function endOfBrackets(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length;) {
    const char = text[at]!;
    if (isQuote(char)) at = endOfString(text, at);
    else if (char === "#") at = endOfLine(text, at);
    else {
      if (char === "[" || char === "{") depth++;
      if (char === "]" || char === "}") depth--;
      at++;
      if (depth === 0) return at;
    }
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  const quote = text[start]!;
  const mark = text.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  for (let at = start + mark.length; at < text.length; at++) {
    if (quote === '"' && text[at] === "\\") at++;
    else if (text.startsWith(mark, at)) {
      let end = at + mark.length;
      // The string may end with up to two quotes before the closing ones.
      while (mark.length === 3 && text[end] === quote) end++;
      return end;
    }
  }
  return text.length;
}

function endOfBare(text: string, at: number): number {
  return at + /^[A-Za-z0-9_-]*/.exec(text.slice(at, at + 1000))![0].length;
}

function isQuote(char: string | undefined): boolean {
  return char === '"' || char === "'";
}

function skipSpaces(text: string, at: number): number {
  while (text[at] === " " || text[at] === "\t") at++;
  return at;
}

function skipBlank(text: string, start: number): number {
  let at = start;
  for (;;) {
    while (at < text.length && /\s/.test(text[at]!)) at++;
    if (text[at] !== "#") return at;
    at = endOfLine(text, at);
  }
}
