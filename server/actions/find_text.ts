/** From this length on, `indexOf` may need time in proportion to the product of both lengths. */
const LONG = 200;

/** Where a text occurs first; -1 if it does not. Takes time in proportion to both lengths. */
export function findText(text: string, wanted: string, from = 0): number {
  if (wanted.length < LONG) return text.indexOf(wanted, from);
  if (text.length - from < wanted.length) return -1;
  const borders = bordersOf(wanted);
  let matched = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && code !== wanted.charCodeAt(matched)) matched = borders[matched - 1]!;
    if (code === wanted.charCodeAt(matched)) matched++;
    if (matched === wanted.length) return at - matched + 1;
  }
  return -1;
}

/** The parts of a text between the places where another one occurs, as `split` returns them. */
export function splitText(text: string, wanted: string): string[] {
  if (wanted.length < LONG) return text.split(wanted);
  const parts: string[] = [];
  let from = 0;
  for (let at = findText(text, wanted); at !== -1; at = findText(text, wanted, from)) {
    parts.push(text.slice(from, at));
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}

/** For each beginning of the text: the length of its longest proper end that begins the text too. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  for (let at = 1, length = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (length > 0 && code !== text.charCodeAt(length)) length = borders[length - 1]!;
    if (code === text.charCodeAt(length)) length++;
    borders[at] = length;
  }
  return borders;
}
