import type { z } from "zod";
import { GateError } from "./errors.ts";
import { wordsOf } from "./issue.ts";

const MAX_ISSUES = 20;

/**
 * The value as the schema outputs it. @throws GateError `invalid`: the message names the first wrong
 * field, and `fields.errors` lists up to 20
 */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.slice(0, MAX_ISSUES).map((issue) => {
    const { path, message } = wordsOf(issue);
    return { pointer: pointerOf(path), message };
  });
  const { pointer, message } = errors[0]!;
  const cause = pointer === "" ? message : `"${pointer}": ${message}`;
  throw new GateError(
    "invalid",
    `Cannot read the input: ${cause}; correct it and send the request again`,
    { fields: { errors } },
  );
}

/** The JSON pointer (RFC 6901) of a path: "" for the whole value. */
function pointerOf(path: PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(
    "",
  );
}
