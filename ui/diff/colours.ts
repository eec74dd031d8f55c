import type { LanguageFn } from "highlight.js";
import { createLowlight } from "lowlight";
import { segments } from "../../server/shown/visible.ts";

/** What a part of code is; its class is `code-` and this word. */
export type Colour = "comment" | "keyword" | "literal" | "name" | "string";

/** The coloured parts of one line, in their order, as start and end offsets. */
export type Colours = readonly (readonly [from: number, to: number, colour: Colour])[];

/** Longer texts stay plain. */
const MOST = 1_000_000;
/**
 * So much is coloured at once, because more would hold the page; a slice that ends inside a comment or
 * a text is tried again with the next length.
 */
const SLICES = [20_000, 40_000, 80_000];
/** One part of such a file says how to read the next, so it is coloured at once or not at all. */
const WHOLE = ["markdown", "php", "xml", "erb", "handlebars", "haml", "twig"];
const MOST_WHOLE = 40_000;

const lowlight = createLowlight();

/**
 * The colours of each line of a file, by the language that its name tells; null for an unknown
 * language and for a very long text. Colours change no character: a line with a character that the
 * page marks has none. A long text is coloured in slices, and the page answers between them.
 */
export async function coloursOf(path: string, text: string): Promise<Colours[] | null> {
  if (text.length > MOST) return null;
  const language = languageOf(path) ?? await rareLanguageOf(path);
  if (language === null) return null;
  const isWhole = WHOLE.includes(language);
  if (isWhole && text.length > MOST_WHOLE) return null;
  await load(language);
  const coloured: Colours[] = [];
  for (let from = 0; from < text.length;) {
    const sizes = isWhole ? [text.length] : SLICES;
    const end = await colourSlice(language, text, { from, sizes, coloured });
    // The rest stays plain.
    if (end === null) break;
    from = end;
    if (from < text.length) await pause();
  }
  const count = text.split("\n").length;
  while (coloured.length < count) coloured.push([]);
  return coloured;
}

interface Slice {
  from: number;
  /** The lengths to try. */
  sizes: readonly number[];
  /** Gets the colours of the slice's lines. */
  coloured: Colours[];
}

/** Colours the next lines and returns where they end; null if no slice fits. */
async function colourSlice(language: string, text: string, slice: Slice): Promise<number | null> {
  for (const end of slice.sizes.flatMap((size) => endsOfSlice(text, slice.from, size))) {
    const part = text.slice(slice.from, end);
    const parts = partsOf(language, part);
    const isLast = end === text.length;
    if (parts !== null && (isLast || !isOpen(parts))) {
      const lines = part.split("\n");
      const colours = byLine(parts)
        .map((line, at) => isPlain(lines[at]!.replace(/\r$/, "")) ? line : []);
      // The line after the last newline belongs to the next slice.
      slice.coloured.push(...isLast ? colours : colours.slice(0, -1));
      return end;
    }
    await pause();
  }
  return null;
}

/** Where a slice could end, best first: before the last lines that begin something new. */
function endsOfSlice(text: string, from: number, size: number): number[] {
  if (text.length - from <= size) return [text.length];
  const slice = text.slice(from, from + size);
  const ends: number[] = [];
  for (let at = slice.lastIndexOf("\n\n"); at > 0; at = slice.lastIndexOf("\n\n", at - 1)) {
    if (/\S/.test(slice.charAt(at + 2))) ends.push(from + at + 2);
    if (ends.length === TRIES) break;
  }
  const last = slice.lastIndexOf("\n");
  return ends.length > 0 || last < 0 ? ends : [from + last + 1];
}

const TRIES = 3;

/** Whether a comment or a text goes on behind the slice. */
function isOpen(parts: readonly Part[]): boolean {
  const last = parts.findLast(({ text }) => text !== "");
  return last !== undefined && last.text.endsWith("\n") &&
    (last.colour === "comment" || last.colour === "string");
}

/** The coloured parts of a text; null if they are not exactly its characters. */
function partsOf(language: string, text: string): Part[] | null {
  const parts: Part[] = [];
  collect(lowlight.highlight(language, text), null, parts);
  return parts.map((part) => part.text).join("") === text ? parts : null;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Cuts a part of a line into what has a colour and what has none. */
export function cutByColour(
  text: string,
  from: number,
  colours: Colours,
): { text: string; colour: Colour | null }[] {
  const cut: { text: string; colour: Colour | null }[] = [];
  let at = 0;
  const take = (end: number, colour: Colour | null) => {
    if (end > at) cut.push({ text: text.slice(at, end), colour });
    at = Math.max(at, end);
  };
  for (const [start, end, colour] of colours) {
    if (end <= from || start >= from + text.length) continue;
    take(Math.min(text.length, start - from), null);
    take(Math.min(text.length, end - from), colour);
  }
  take(text.length, null);
  return cut;
}

interface Part {
  text: string;
  colour: Colour | null;
}

/** The tree of lowlight, of which only these fields are read. */
interface Node {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Node[];
}

function collect(node: Node, outer: Colour | null, parts: Part[]): void {
  if (node.type === "text") parts.push({ text: node.value!, colour: outer });
  const names = node.properties?.className;
  const colour = (Array.isArray(names) ? colourOf(String(names[0])) : undefined) ?? outer;
  for (const child of node.children ?? []) collect(child, colour, parts);
}

function byLine(parts: readonly Part[]): Colours[] {
  const lines: [number, number, Colour][][] = [[]];
  let at = 0;
  for (const { text, colour } of parts) {
    for (const [i, piece] of text.split("\n").entries()) {
      if (i > 0) {
        lines.push([]);
        at = 0;
      }
      if (colour !== null && piece !== "") lines.at(-1)!.push([at, at + piece.length, colour]);
      at += piece.length;
    }
  }
  return lines;
}

/** A letter from another alphabet is found in its word, so such a line is not cut. */
function isPlain(line: string): boolean {
  const [first] = segments(line, { code: true });
  return /^[\t\x20-\x7e]*$/.test(line) && !/xn--/i.test(line) && first?.kind === "text" &&
    first.text === line;
}

const COLOURS: Record<Colour, string> = {
  comment: "comment quote doctag deletion",
  keyword: "keyword selector-tag built_in tag name section meta operator",
  literal: "literal number symbol bullet variable template-variable attr attribute property",
  name: "title type class params selector-class selector-id link",
  string: "string regexp addition char subst",
};

const COLOUR_OF = new Map(
  Object.entries(COLOURS).flatMap(([colour, names]) =>
    names.split(" ").map((name) => [`hljs-${name}`, colour as Colour])
  ),
);

/** `subst` is code in a string, and has its own colours inside. */
function colourOf(name: string): Colour | undefined {
  return COLOUR_OF.get(name.replace(/_$/, ""));
}

type Load = () => Promise<{ default: LanguageFn }>;

/** The languages, each with the names or ends of its files, and the languages inside it. */
const LANGUAGES: Record<string, { files: string; load: Load; inside?: string[] }> = {
  bash: {
    files: "sh bash zsh .bashrc .zshrc .profile .envrc",
    load: () => import("highlight.js/lib/languages/bash"),
  },
  c: { files: "c h", load: () => import("highlight.js/lib/languages/c") },
  cpp: { files: "cc cpp cxx hh hpp", load: () => import("highlight.js/lib/languages/cpp") },
  csharp: { files: "cs", load: () => import("highlight.js/lib/languages/csharp") },
  css: { files: "css", load: () => import("highlight.js/lib/languages/css") },
  dockerfile: {
    files: "dockerfile containerfile",
    load: () => import("highlight.js/lib/languages/dockerfile"),
  },
  go: { files: "go", load: () => import("highlight.js/lib/languages/go") },
  graphql: { files: "graphql gql", load: () => import("highlight.js/lib/languages/graphql") },
  ini: {
    files: "ini toml cfg conf editorconfig .npmrc .gitconfig",
    load: () => import("highlight.js/lib/languages/ini"),
  },
  java: { files: "java", load: () => import("highlight.js/lib/languages/java") },
  javascript: {
    files: "js jsx mjs cjs",
    load: () => import("highlight.js/lib/languages/javascript"),
    inside: ["xml"],
  },
  json: { files: "json jsonc json5 lock", load: () => import("highlight.js/lib/languages/json") },
  kotlin: { files: "kt kts", load: () => import("highlight.js/lib/languages/kotlin") },
  lua: { files: "lua", load: () => import("highlight.js/lib/languages/lua") },
  makefile: { files: "makefile mk", load: () => import("highlight.js/lib/languages/makefile") },
  markdown: {
    files: "md markdown",
    load: () => import("highlight.js/lib/languages/markdown"),
    inside: ["xml"],
  },
  perl: { files: "pl pm", load: () => import("highlight.js/lib/languages/perl") },
  php: { files: "php", load: () => import("highlight.js/lib/languages/php") },
  python: { files: "py pyi", load: () => import("highlight.js/lib/languages/python") },
  ruby: { files: "rb gemfile rakefile", load: () => import("highlight.js/lib/languages/ruby") },
  rust: { files: "rs", load: () => import("highlight.js/lib/languages/rust") },
  scss: { files: "scss sass", load: () => import("highlight.js/lib/languages/scss") },
  sql: { files: "sql", load: () => import("highlight.js/lib/languages/sql") },
  swift: { files: "swift", load: () => import("highlight.js/lib/languages/swift") },
  typescript: {
    files: "ts tsx mts cts",
    load: () => import("highlight.js/lib/languages/typescript"),
    inside: ["xml"],
  },
  xml: {
    files: "xml html htm svg vue svelte plist",
    load: () => import("highlight.js/lib/languages/xml"),
    inside: ["css", "javascript"],
  },
  yaml: { files: "yaml yml", load: () => import("highlight.js/lib/languages/yaml") },
};

const BY_NAME = new Map(
  Object.entries(LANGUAGES).flatMap(([language, { files }]) =>
    files.split(" ").map((name) => [name, language])
  ),
);

function languageOf(path: string): string | null {
  const name = nameOf(path);
  return BY_NAME.get(name) ?? BY_NAME.get(name.slice(name.lastIndexOf(".") + 1)) ??
    (name.startsWith("dockerfile.") ? "dockerfile" : null);
}

/** Loads the other languages as one file, because few projects have any of them. */
async function rareLanguageOf(path: string): Promise<string | null> {
  const { rareLanguage } = await import("./rare_languages.ts");
  const name = nameOf(path);
  const found = rareLanguage(name) ?? rareLanguage(name.slice(name.lastIndexOf(".") + 1));
  if (found === null) return null;
  if (!lowlight.registered(found.language)) lowlight.register(found.language, found.grammar);
  await Promise.all(found.inside.map(load));
  return found.language;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).toLowerCase();
}

/** Loads every language. */
export async function loadLanguages(): Promise<void> {
  await Promise.all([...Object.keys(LANGUAGES).map(load), import("./rare_languages.ts")]);
}

async function load(language: string): Promise<void> {
  if (lowlight.registered(language)) return;
  const { load: read, inside = [] } = LANGUAGES[language]!;
  const { default: grammar } = await read();
  lowlight.register(language, grammar);
  await Promise.all(inside.map(load));
}
