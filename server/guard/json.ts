import { REQUEST_LIMITS } from "../constants.ts";
import { GateError } from "../errors.ts";

/**
 * Parses JSON that every parser reads alike: valid UTF-8, bounded depth and number of values, unique
 * keys, no `__proto__`. Returns undefined for an empty body. @throws GateError `invalid`, `too_large`
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  checkShape(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GateError("invalid", "Cannot read the body: it is not valid JSON; correct it", {
      cause,
    });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new GateError(
      "invalid",
      "Cannot read the body: it is not valid UTF-8; send the text in UTF-8",
      { cause },
    );
  }
}

const STRUCTURE = /["{}[\],]/g;

// Checks brackets, commas and strings only. JSON.parse finds every other error.
function checkShape(text: string): void {
  const open: (Set<string> | null)[] = [];
  let values = 1;
  let names = 0;
  STRUCTURE.lastIndex = 0;
  for (let hit = STRUCTURE.exec(text); hit; hit = STRUCTURE.exec(text)) {
    const mark = hit[0];
    if (mark !== '"' && ++values > REQUEST_LIMITS.json_values) {
      throw tooMany(REQUEST_LIMITS.json_values, "values");
    }
    if (mark === "{" || mark === "[") {
      open.push(mark === "{" ? new Set() : null);
      if (open.length > REQUEST_LIMITS.json_depth) {
        throw new GateError(
          "invalid",
          `Cannot read the body: it is nested over ${REQUEST_LIMITS.json_depth} deep; send it flatter`,
        );
      }
    } else if (mark === '"') {
      const end = endOfString(text, hit.index);
      STRUCTURE.lastIndex = end;
      const keys = open.at(-1);
      if (!keys || !isKey(text, end)) continue;
      if (++names > REQUEST_LIMITS.json_names) throw tooMany(REQUEST_LIMITS.json_names, "fields");
      addKey(keys, text.slice(hit.index, end));
    } else if (mark !== ",") {
      open.pop();
    }
  }
}

function tooMany(most: number, what: string): GateError {
  return new GateError(
    "too_large",
    `Cannot read the body: it has over ${most} ${what}; send fewer`,
  );
}

function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (" \t\r\n".includes(text[at] ?? ".")) at++;
  return text[at] === ":";
}

function addKey(keys: Set<string>, literal: string): void {
  let key: string;
  try {
    key = JSON.parse(literal);
  } catch {
    return;
  }
  if (key === "__proto__") {
    throw new GateError(
      "invalid",
      'Cannot read the body: "__proto__" is not a field; leave it out',
    );
  }
  if (keys.has(key)) {
    throw new GateError(
      "invalid",
      `Cannot read the body: the field "${key}" is given twice; give it once`,
    );
  }
  keys.add(key);
}
