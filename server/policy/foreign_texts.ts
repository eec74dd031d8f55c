import type { Place } from "./foreign_input.ts";

/** A path in a text. */
export interface FoundPath {
  path: string;
  /** The text is this path and nothing else. */
  is_whole: boolean;
}

const MAX_PATH = 4_096;
const MAX_COMMAND = 8 * 1024;
const MAX_LINE = 1_024;
const MOST_LINES = 200;

/** The paths in a text, in every spelling that a program may undo. */
export function pathsIn({ text, kind }: Place): FoundPath[] {
  return spellings(text).flatMap((spelling): FoundPath[] => {
    const whole = wholePath(spelling, kind === "path");
    if (whole !== null) return [{ path: whole, is_whole: true }];
    return wordsOf(spelling).map((path) => ({ path, is_whole: false }));
  });
}

/** The command lines in a text; a text that is no command has its lines looked at as well. */
export function commandsIn({ text, kind }: Place): string[] {
  if (kind === "path") return [];
  if (kind === "command") return [text];
  const whole = text.length <= MAX_COMMAND ? [text] : [];
  const isBlock = text.includes("\n");
  const lines = isBlock ? text.split("\n", MOST_LINES) : text.length > MAX_COMMAND ? [text] : [];
  const parts = lines.map((line) => line.trim().slice(0, MAX_LINE));
  return [...whole, ...parts].filter((one) => COMMAND_LIKE.test(one));
}

/** A word with a blank behind it begins most commands. */
const COMMAND_LIKE = /[\w$/.~)}`'"]\s+\S|[;|&<>`$]|^gate\b/;

/** The hosts and ports of the addresses in a text, as a client of HTTP understands them. */
export function urlsIn(text: string): { host: string; port: number }[] {
  return [...text.matchAll(/\b(https?|wss?):[/\\]{2}[^\s"'<>`\\)}]{1,2048}/gi)].flatMap(
    ([found]) => {
      const { hostname, port, protocol } = URL.parse(found) ?? {};
      if (hostname === undefined) return [];
      return [{
        host: hostname,
        port: Number(port || (/^(https|wss):$/.test(protocol!) ? 443 : 80)),
      }];
    },
  );
}

/** The text as it is, and with percent-encoding and backslashes undone. */
function spellings(text: string): string[] {
  const found = new Set([text]);
  let last = text;
  for (let i = 0; i < 3 && /%[0-9a-f]{2}/i.test(last); i++) {
    last = decoded(last);
    found.add(last);
  }
  if (last.includes("\\")) found.add(last.replace(/\\+/g, "/"));
  return [...found];
}

function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}

/** The path that a text is; null for other text. A bare word is a path only under such a key. */
function wholePath(text: string, isPathKey: boolean): string | null {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > MAX_PATH || /[\n\r]/.test(trimmed)) return null;
  const path = plain(trimmed);
  if (path === null) return null;
  if (isPathKey || !/\s/.test(path)) return isPathKey || isPathLike(path) ? path : null;
  return /^([/~]|\.{1,2}\/)[^\s]*( [^\s]+)?$/.test(path) ? path : null;
}

/** A name with a slash, a leading dot or tilde, or an ending. */
function isPathLike(word: string): boolean {
  return /[/~]/.test(word) || /^\.\w/.test(word) ||
    /^[^\s.]+(\.[\w-]+)*\.[A-Za-z]\w{0,9}$/.test(word);
}

/** The words of a text that look like paths. */
function wordsOf(text: string): string[] {
  const words = new Set<string>();
  for (const word of text.split(/[\s"'`<>(){}[\],;|&=!?*]+|:(?![/\\]{2})/)) {
    const path = plain(word.replace(/^@/, "").replace(/[.:]+$/, ""));
    if (path !== null && path.length <= MAX_PATH && isPathLike(path)) words.add(path);
  }
  return [...words];
}

/** Without the scheme of a file's address and with the home folder as `~`; null for another address. */
function plain(word: string): string | null {
  const file = /^file:(?:\/\/[^/]*)?(\/.*)$/i.exec(word)?.[1];
  if (file !== undefined) return file.replace(/[?#].*$/, "");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) return null;
  const home = word.replace(/^(?:\$HOME|\$\{HOME\})(?=\/|$)/, "~");
  return home === "" ? null : home;
}
