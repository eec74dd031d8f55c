const MOST_RESULTS = 64;

/**
 * The words that a brace expansion stands for, as they would be typed; null when there are too many.
 * `text` is the braces alone.
 */
export function expandBraceText(text: string): string[] | null {
  const inner = text.slice(1, -1);
  const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(inner);
  if (range) return expandRange(range[1]!, range[2]!, Number(range[3] ?? 1));
  const parts = splitCommas(inner);
  return parts.length > MOST_RESULTS ? null : parts;
}

function expandRange(from: string, to: string, by: number): string[] | null {
  const letters = !/\d/.test(from);
  const [first, last] = letters ? [from.charCodeAt(0), to.charCodeAt(0)] : [+from, +to];
  const step = Math.max(1, Math.abs(by)) * (first! <= last! ? 1 : -1);
  const count = Math.floor((last! - first!) / step) + 1;
  if (!(count <= MOST_RESULTS)) return null;
  const width = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  return Array.from({ length: count }, (_, at) => {
    const value = first! + at * step;
    return letters ? String.fromCharCode(value) : String(value).padStart(width, "0");
  });
}

/** Splits at the commas that are in no quotes, no inner braces and no substitution. */
function splitCommas(inner: string): string[] {
  const parts: string[] = [];
  let [depth, start, quote] = [0, 0, ""];
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at]!;
    if (char === "\\") at++;
    else if (quote) quote = char === quote ? "" : quote;
    else if (char === "'" || char === '"' || char === "`") quote = char;
    else if (char === "{" || char === "(") depth++;
    else if (char === "}" || char === ")") depth--;
    else if (char === "," && depth === 0) {
      parts.push(inner.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, inner.slice(start)];
}
