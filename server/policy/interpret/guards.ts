import { forEachChild, type ParsedScript, type SyntaxNode } from "unbash";

/** Bounds on the raw text, checked before it is parsed. */
const SHELL_LIMITS = {
  bytes: 65_536,
  commands: 200,
  nesting: 64,
  separators: 2_000,
  negations: 2_000,
  /** Prose of 60 KB has 12,000 words. */
  words: 12_000,
  /** Quotes, expansions, escapes and redirects in one stretch without a blank. */
  pieces: 2_000,
  /** A page of HTML with 64 KiB has 7,000 angle brackets. */
  angles: 8_000,
  braces: 4_000,
  assignments: 8_000,
  openers: 500,
  /** Depth of the syntax tree; a deeper one may overflow the stack. */
  depth: 400,
  arithmetic: 4_000,
} as const;

/** Why gate refuses to parse a text; null if it may be parsed. */
export function refuseText(source: string): string | null {
  if (source.length > SHELL_LIMITS.bytes) return "it is longer than 64 KiB";
  if (!ASCII.test(source) && UNREADABLE.test(source)) {
    return "it has Unicode noncharacters or lone surrogates";
  }
  if (source.includes("$\\\n")) return "a $ comes before a line continuation";
  return refuseSize(source);
}

/** Whether the text has a control character or an unusual blank, which a person may misread. */
export function isStrange(source: string): boolean {
  if (ASCII.test(source)) return false;
  // A joiner between two pictographs only joins them.
  return STRANGE.test(source) && STRANGE.test(source.replace(JOINED_PICTURE, "$1"));
}

const JOINED_PICTURE = /(\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic})/gu;

/** Whether the text ends in a backslash; its meaning depends on how bash receives the text. */
export function endsOpen(source: string): boolean {
  return isEscaped(source, source.length);
}

/** As `refuseText` for code inside a command, which may contain holes. */
export function refuseCode(source: string): string | null {
  return refuseText(source.replace(/[\uFDD0-\uFDD6]/g, "x"));
}

function refuseSize(source: string): string | null {
  const size = measure(source);
  if (size.words > SHELL_LIMITS.words) return "it has too many words";
  if (size.negations > SHELL_LIMITS.negations) return "it has too many negations";
  if (size.separators > SHELL_LIMITS.separators) return "it has too many commands";
  if (size.pieces > SHELL_LIMITS.pieces) return "one of its words has too many parts";
  if (size.angles > SHELL_LIMITS.angles) return "it has too many redirects";
  if (size.braces > SHELL_LIMITS.braces) return "it has too many braces";
  if (size.assignments > SHELL_LIMITS.assignments) return "it has too many assignments";
  if (size.nesting > SHELL_LIMITS.nesting) {
    return `it nests deeper than ${SHELL_LIMITS.nesting} levels`;
  }
  return null;
}

/** Most texts are plain ASCII, which one look tells. */
const ASCII = /^[\t\n -~]*$/;

const STRANGE =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\xa0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180E\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]/;

const UNREADABLE =
  /[\uFDD0-\uFDEF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

const [LINE_FEED, SEMICOLON, AND, BAR, BLANK, EXCLAMATION] = [10, 59, 38, 124, 32, 33];
const [ROUND, ROUND_END, BRACE, BRACE_END, LESS, GREATER, EQUALS] = [40, 41, 123, 125, 60, 62, 61];
const [QUOTE, DOUBLE_QUOTE, DOLLAR, BACKTICK, BACKSLASH] = [39, 34, 36, 96, 92];

/** Counts separators, brackets, words and their parts, which determine the cost of parsing. */
function measure(source: string) {
  let [separators, depth, nesting, negations, words] = [0, 0, 0, 0, 0];
  let [angles, braces, assignments, parts, pieces] = [0, 0, 0, 0, 0];
  for (let at = 0; at < source.length; at++) {
    switch (source.charCodeAt(at)) {
      case LINE_FEED:
        separators++;
        parts = 0;
        break;
      case SEMICOLON:
      case AND:
      case BAR:
        separators++;
        break;
      case BLANK:
        if (source.charCodeAt(at - 1) !== BLANK) words++;
        parts = 0;
        break;
      case EXCLAMATION:
        negations++;
        break;
      case BRACE:
        braces++;
        if (++depth > nesting) nesting = depth;
        break;
      case ROUND:
        if (++depth > nesting) nesting = depth;
        break;
      case ROUND_END:
      case BRACE_END:
        if (depth > 0) depth--;
        break;
      case EQUALS:
        assignments++;
        break;
      case LESS:
      case GREATER:
        angles++;
        if (++parts > pieces) pieces = parts;
        break;
      case QUOTE:
      case DOUBLE_QUOTE:
      case DOLLAR:
      case BACKTICK:
      case BACKSLASH:
        if (++parts > pieces) pieces = parts;
    }
  }
  return { separators, nesting, negations, words, angles, braces, assignments, pieces };
}

/** The substitutions and the quoted stretches of one syntax tree. */
interface Openers {
  source: string;
  /** Positions where substitutions open and close. */
  known: Set<number>;
  /** Stretches that quotes make data, in source order. */
  data: { from: number; to: number }[];
  /** The leaves of the tree, in source order. */
  leaves: { from: number; to: number }[];
  inner: ParsedScript[];
}

/**
 * Whether the tree lacks a substitution for some `$(` or backtick outside single quotes, or a comment
 * begins in a bracket after a word. Then a shell may evaluate that text a second time (arithmetic,
 * `[[ -v`), or the parser and a shell disagree.
 */
export function hasStrayOpener(source: string, script: ParsedScript): boolean {
  if (!OPENER.test(source)) return false;
  if ((source.match(/\$\(|`/g)?.length ?? 0) > SHELL_LIMITS.openers) return true;
  const openers: Openers = { source, known: new Set(), data: [], leaves: [], inner: [] };
  if (!collect(script, openers, true, 0)) return true;
  const inData = within(openers.data);
  const inLeaf = within(openers.leaves);
  for (const { index } of source.matchAll(/\$\(|`/g)) {
    if (openers.known.has(index) || isEscaped(source, index) || inData(index).inside) continue;
    const leaf = inLeaf(index);
    if (leaf.inside || !isComment(source.slice(leaf.before, index))) return true;
  }
  const inWord = within(openers.leaves);
  for (const { 0: found, index } of source.matchAll(GROUP)) {
    const at = index + found.length - 2;
    const leaf = inWord(at);
    if (!leaf.inside && !isComment(source.slice(leaf.before, at))) return true;
  }
  return openers.inner.some((one) => hasStrayOpener(one.source ?? "", one));
}

/** `a(#q) ; b`, `a (#i) ; b`: for the parser a comment begins in the bracket, for zsh it is a part of the word. */
const GROUP = /[^\s;&|(){}<>$=][ \t]*\(#/g;
const OPENER = /\$\(|`|\(#/;

/** Returns a lookup of positions in the stretches; positions must ascend. */
function within(stretches: { from: number; to: number }[]) {
  const sorted = [...stretches].sort((a, b) => a.from - b.from);
  let [next, before, reach] = [0, 0, -1];
  return (at: number) => {
    while (next < sorted.length && sorted[next]!.from <= at) {
      reach = Math.max(reach, sorted[next++]!.to);
    }
    if (reach <= at) before = Math.max(before, reach);
    return { inside: reach > at, before };
  };
}

function isComment(gap: string): boolean {
  const line = gap.slice(gap.lastIndexOf("\n") + 1);
  return /(^|[\s;&|()])#/.test(line);
}

function isEscaped(source: string, at: number): boolean {
  let slashes = 0;
  while (source[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

/**
 * Collects the openers of a subtree. `protects` is false inside double quotes and arithmetic, where
 * single quotes are ordinary characters. Returns false for a tree that is too deep.
 */
function collect(node: SyntaxNode, openers: Openers, protects: boolean, depth: number): boolean {
  const { pos: from, end: to } = node;
  // The parser parses an expression lazily, on first access.
  const long = node.type.startsWith("Arithmetic") && to - from > SHELL_LIMITS.arithmetic;
  if (depth > SHELL_LIMITS.depth || long) return false;
  if (node.type === "CommandExpansion" || node.type === "ArithmeticCommandExpansion") {
    openers.known.add(from).add(to - 1);
    if (node.script?.source !== undefined) {
      openers.inner.push(node.script);
      openers.data.push({ from, to });
      return true;
    }
    return node.script === undefined || collect(node.script, openers, true, depth + 1);
  }
  if (node.type === "ProcessSubstitution") protects = true;
  if (node.type === "ArithmeticExpansion") openers.known.add(from);
  if (isQuote(node) && protects) openers.data.push({ from, to });
  if (node.type === "HereDocBody") openers.leaves.push({ from, to });
  if (LEAVES.has(node.type)) openers.leaves.push({ from, to });
  if (node.type === "HereDoc" && node.delimiter?.quoted) {
    openers.data.push({ from: node.body.pos, to: node.body.end });
  }
  const inside = protects && !UNPROTECTED.has(node.type);
  let shallow = true;
  forEachChild(node, (child) => {
    shallow = shallow && collect(child, openers, inside, depth + 1);
  });
  return shallow;
}

const LEAVES = new Set([
  "Word",
  "Assignment",
  "ArithmeticCommand",
  "ArithmeticFor",
  "ArithmeticWord",
]);
const UNPROTECTED = new Set([
  "DoubleQuoted",
  "LocaleString",
  "HereDocBody",
  "ArithmeticExpansion",
  "ArithmeticCommand",
  "ArithmeticWord",
  "Slice",
]);

function isQuote(node: SyntaxNode): boolean {
  return node.type === "SingleQuoted" || node.type === "AnsiCQuoted";
}
