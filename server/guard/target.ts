import { GateError } from "../errors.ts";

/** A request target that can mean one thing only. */
export interface Target {
  /** As sent and as the router sees it; nothing in it needs decoding to find the route. */
  path: string;
  /** With its question mark, or empty. */
  query: string;
}

const PRINTABLE = /^[\x21-\x7e]*$/;
// Anything else in a path is rewritten by one reader of addresses and left alone by another.
const PATH = /^[A-Za-z0-9\-._~!$&'()*+,;=:@%/\\]*$/;
const FORBIDDEN = /[\\;]|\/\//;
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:\/|$)/;
// What needs no escape has no escape (%61), and what changes a path's meaning is not hidden in one.
const HIDDEN = /%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a]|2f|5c|3b|0[0-9a-f]|1[0-9a-f]|7f)/i;

/** Splits and checks a request target. @throws GateError `invalid` */
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
  return new GateError("invalid", `Cannot read the address: ${why}`);
}
