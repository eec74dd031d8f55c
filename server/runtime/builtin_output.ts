/** The output of `echo` as bash prints it. */
export function echoOutput(words: readonly string[]): string {
  let [at, ends, escapes] = [0, true, false];
  for (; /^-[neE]+$/.test(words[at] ?? ""); at++) {
    for (const letter of words[at]!.slice(1)) {
      if (letter === "n") ends = false;
      else escapes = letter === "e";
    }
  }
  const text = words.slice(at).join(" ");
  if (!escapes) return ends ? `${text}\n` : text;
  const [kept, ...more] = text.split(/(?<=(?<!\\)(?:\\\\)*)\\c/);
  return unescape(kept!) + (ends && more.length === 0 ? "\n" : "");
}

const SIGNS: Record<string, string> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

function unescape(text: string): string {
  const escape =
    /\\(?:([abeEfnrtv\\])|0([0-7]{1,3})|x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8}))/g;
  return text.replace(escape, (_, sign, octal, hex, short, long) => {
    if (sign !== undefined) return SIGNS[sign]!;
    const code = octal !== undefined
      ? parseInt(octal, 8) & 255
      : parseInt(hex ?? short ?? long, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}

/** The output of `printf` with the conversions `%s`, `%d`, `%i` and `%%`. */
export function printfOutput([format = "", ...words]: readonly string[]): string {
  let output = "";
  let at = 0;
  do {
    const before = at;
    output += format.replace(/\\([nrt\\])|%%|%(-?)(\d*)[sdi]/g, (found, sign, left, width) => {
      if (sign !== undefined) return SIGNS[sign]!;
      if (found === "%%") return "%";
      const word = words[at++] ?? (found.endsWith("s") ? "" : "0");
      const value = found.endsWith("s") ? word : String(BigInt(word));
      return left ? value.padEnd(Number(width)) : value.padStart(Number(width));
    });
    if (at === before) break;
  } while (at < words.length);
  return output;
}
