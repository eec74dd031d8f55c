import type { z } from "zod";
import { GateError } from "./errors.ts";

const MAX_ISSUES = 20;

/** The value as the schema outputs it. @throws GateError `invalid`, naming the first wrong field */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    pointer: pointerOf(path),
    message,
  }));
  const [first] = errors;
  throw new GateError("invalid", `Invalid value at "${first?.pointer}": ${first?.message}`, {
    fields: { errors },
  });
}

/** The JSON pointer (RFC 6901) of a path. */
function pointerOf(path: PropertyKey[]): string {
  return "/" +
    path.map((part) => String(part).replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
}
