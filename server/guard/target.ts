import { GateError } from "../errors.ts";

/** A request target with only one reading. */
export interface Target {
  /** The path as sent. The router needs no decoding to find the route. */
  path: string;
  /** With its question mark; empty without a query. */
  query: string;
}

const PRINTABLE = /^[\x21-\x7e]*$/;
// URL parsers disagree about every other character.
const PATH = /^[A-Za-z0-9\-._~!$&'()*+,;=:@%/\\]*$/;
const FORBIDDEN = /[\\;]|\/\//;
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:\/|$)/;
// Rejects escapes of plain characters (%61) and of characters that change the path (%2f, %2e).
const HIDDEN = /%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a]|2f|5c|3b|0[0-9a-f]|1[0-9a-f]|7f)/i;

/** Splits and validates a request target. @throws GateError `invalid` */
export function parseTarget(raw: string): Target {
  const mark = raw.indexOf("?");
  const path = mark < 0 ? raw : raw.slice(0, mark);
  const query = mark < 0 ? "" : raw.slice(mark);
  if (!path.startsWith("/")) throw unclear("it must start with one slash");
  if (!PATH.test(path) || !PRINTABLE.test(query) || query.includes("#")) {
    throw unclear("it has a character to be escaped");
  }
  if (FORBIDDEN.test(path)) throw unclear("it has a backslash, a semicolon or an empty segment");
  if (DOT_SEGMENT.test(path)) throw unclear("it has a dot segment");
  if (HIDDEN.test(path)) throw unclear("it hides a character in an escape");
  if (!isDecodable(path) || !isDecodable(query)) throw unclear("it has a broken escape");
  return { path, query };
}

function isDecodable(text: string): boolean {
  if (!text.includes("%")) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function unclear(why: string): GateError {
  return new GateError("invalid", `Cannot read the address: ${why}`, {
    next: "correct the address",
  });
}
