import { isStatic, TAME } from "../holes.ts";

const SIMPLE: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

/** What `echo -e`, `printf` and `tr` make of backslashes. */
export function unescape(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|([\s\S]))/g,
    (all, hex, short, long, octal, other) => {
      if (other !== undefined) return SIMPLE[other] ?? all;
      const code = octal === undefined ? parseInt(hex ?? short ?? long, 16) : parseInt(octal, 8);
      return code > 0x10ffff ? all : String.fromCodePoint(code);
    },
  );
}

const DIRECTIVE = /%(%|[-+ 0#']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?([diouxXeEfFgGaAcsbqQ]|\([^)]*\)T))/g;

/** `printf`: the format is used again until the arguments are used up. */
export function formatPrintf(args: readonly string[]): string {
  const [format = "", ...values] = args;
  const takes = [...format.matchAll(DIRECTIVE)].filter((one) => one[1] !== "%").length;
  let printed = "";
  const queue = [...values];
  do {
    printed += once(format, queue);
  } while (takes > 0 && queue.length > 0 && printed.length < 65_536);
  return printed;
}

function once(format: string, queue: string[]): string {
  let printed = "";
  let last = 0;
  for (const found of format.matchAll(DIRECTIVE)) {
    printed += unescape(format.slice(last, found.index));
    last = found.index + found[0].length;
    if (found[1] === "%") printed += "%";
    else printed += convert(found[2]!, queue.shift() ?? "");
  }
  return printed + unescape(format.slice(last));
}

function convert(kind: string, value: string): string {
  if (kind === "s" || kind === "q" || kind === "Q") return value;
  if (kind === "b") return unescape(value);
  if (kind === "c") return isStatic(value) ? value.slice(0, 1) : value;
  if (/^[diu]$/.test(kind) && /^\d+$/.test(value)) return value;
  return TAME;
}
