import canonicalize from "canonicalize";

/** The RFC 8785 form of a JSON value. @throws TypeError for a value that JSON cannot hold */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("Cannot write as JSON: the value has no JSON form");
  return text;
}
