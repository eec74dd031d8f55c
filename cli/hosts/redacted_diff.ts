import { createTwoFilesPatch } from "diff";
import { visibleLine } from "../terminal/visible.ts";
import { OWN_VARIABLES } from "./ours.ts";

const HIDDEN = "***";

/** A unified diff of a config file with possible secrets hidden. */
export function redactedDiff(path: string, before: string | null, after: string): string[] {
  const old = before === null ? "/dev/null" : path;
  const lines = [redact(before ?? ""), redact(after)];
  const patch = createTwoFilesPatch(old, path, lines[0]!, lines[1]!, "", "", { context: 3 });
  return patch.split("\n")
    .filter((line) => line !== "" && !line.startsWith("===") && !line.startsWith("\\ No newline"))
    .map((line) => visibleLine(line.replace(/\t$/, "")));
}

const STRING = String.raw`"(?:[^"\\\n]|\\.)*"|'[^'\n]*'`;
const SECRET_BLOCK = /["']?\b(?:env|environment|headers|http_headers)["']?\s*[:=]\s*\{/g;
const SECRET_VALUE = new RegExp(
  String
    .raw`((?:"|\b)[\w.-]{0,40}(?:token|secret|passw|api_?key|authorization|credential|private)[\w.-]{0,40}["']?\s*[:=]\s*)(${STRING})`,
  "gi",
);
const PAIR = new RegExp(String.raw`((["']?)([\w.-]+)\2\s*[:=]\s*)(${STRING})`, "g");
const SECRET_TABLE = /^\s*\[[^\]\n]*(?:env|headers)["']?\s*\]/;

/** Hides values of environments and headers, values of keys named like secrets, and API keys. */
function redact(text: string): string {
  const blocks = hideBlocks(text.replaceAll("\r\n", "\n"));
  let isSecret = false;
  const lines = blocks.split("\n").map((line) => {
    if (/^\s*\[/.test(line)) isSecret = SECRET_TABLE.test(line);
    return isSecret ? hidePairs(line) : line;
  });
  return lines.join("\n")
    .replace(SECRET_VALUE, `$1"${HIDDEN}"`)
    .replace(/\b(?:sk|pk|ghp|gho|ghs|github_pat|xox[abp]|glpat)[-_][\w-]{8,}/g, HIDDEN)
    .replace(
      /(--?[\w-]{0,40}(?:token|secret|passw|key)[\w-]{0,40}(?:=|",?\s*"))[^"\s,]+/gi,
      `$1${HIDDEN}`,
    )
    .replace(/(:\/\/[^\s/"@]{0,100}:)[^\s/"@]{1,400}@/g, `$1${HIDDEN}@`);
}

function hideBlocks(text: string): string {
  let shown = "";
  let at = 0;
  for (const { index, 0: open } of text.matchAll(SECRET_BLOCK)) {
    if (index < at) continue;
    const begin = index + open.length;
    const end = endOfBlock(text, begin);
    shown += text.slice(at, begin) + hidePairs(text.slice(begin, end));
    at = end;
  }
  return shown + text.slice(at);
}

/** The offset of the brace that closes a block; braces in strings do not count. */
function endOfBlock(text: string, begin: number): number {
  const token = new RegExp(`${STRING}|[{}]`, "g");
  token.lastIndex = begin;
  let depth = 1;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    if (found[0] === "{") depth++;
    if (found[0] === "}" && --depth === 0) return found.index;
  }
  return text.length;
}

function hidePairs(text: string): string {
  return text.replace(
    PAIR,
    (whole, start: string, _quote: string, key: string) =>
      (OWN_VARIABLES as readonly string[]).includes(key) ? whole : `${start}"${HIDDEN}"`,
  );
}
