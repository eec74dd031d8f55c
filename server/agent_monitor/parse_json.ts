/** Parsing more values at once would hold the event loop for longer than 20 ms. */
const MOST_VALUES = 20_000;

/** The value of a JSON text that an agent wrote. @throws Error for a damaged one, or one of too many values */
export function parseJson(text: string): unknown {
  if (text.length > MOST_VALUES && isDense(text)) {
    throw new Error(`Cannot read the JSON: it has more than ${MOST_VALUES} values`);
  }
  return JSON.parse(text);
}

const [COMMA, BRACKET, BRACE, QUOTE] = [...',[{"'].map((sign) => sign.charCodeAt(0));

/** Whether there are too many values. The content of a string is passed over. */
function isDense(text: string): boolean {
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== COMMA && code !== BRACKET && code !== BRACE && code !== QUOTE) continue;
    if (++values > MOST_VALUES) return true;
    if (code === QUOTE) at = endOfString(text, at);
  }
  return false;
}

/** The place of the quote that ends the string. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text[before] === "\\") before--;
    // Behind an even number of backslashes the quote is no part of the string.
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}
