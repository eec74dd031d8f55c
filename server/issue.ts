import type { z } from "zod";

/** One thing that is wrong with a value: the names that lead to it, and the fault in words. */
export interface Wrong {
  path: PropertyKey[];
  message: string;
}

/** An error of Zod in words. Of a union it is the error of the alternative that the value is nearest to. */
export function wordsOf(issue: z.core.$ZodIssue): Wrong {
  const inner = innermost(issue);
  return { path: inner.path, message: sayIssue(inner) };
}

/** The same as one text: the dotted name of the field, if there is one, before the fault. */
export function sayWrong(issue: z.core.$ZodIssue): string {
  const { path, message } = wordsOf(issue);
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

function sayIssue(issue: z.core.$ZodIssue): string {
  // A schema that explains itself keeps its words.
  if (!BY_ZOD.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return sayType(issue.expected, RECEIVED.exec(issue.message)?.[1]);
    case "invalid_union":
      return "has a form that gate does not know";
    case "unrecognized_keys":
      return `has the unknown ${issue.keys.length === 1 ? "key" : "keys"} ${quoted(issue.keys)}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${quoted(issue.values)}`;
    case "too_small":
      return sayBound(issue.origin, "at least", Number(issue.minimum), issue.inclusive);
    case "too_big":
      return sayBound(issue.origin, "at most", Number(issue.maximum), issue.inclusive);
    default:
      return issue.message.replace(/^Invalid (?:[a-z]+: )?/, "is not a valid ");
  }
}

const BY_ZOD = /^(?:Invalid |Too |Unrecognized )/;
const RECEIVED = /, received (\w+)$/;

const TYPES: Record<string, string> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a text",
};

function sayType(expected: string, received: string | undefined): string {
  const wanted = TYPES[expected] ?? expected;
  if (received === "undefined") return `is missing: it must be ${wanted}`;
  const found = received && TYPES[received];
  // A boolean is "true or false" as a wish only, and a number may fail to be a whole one.
  const isOther = found && found !== wanted && received !== "boolean" && expected !== "int";
  return isOther ? `must be ${wanted}, not ${found}` : `must be ${wanted}`;
}

function sayBound(origin: string, bound: string, value: number, isInclusive = true): string {
  const limit = isInclusive
    ? `${bound} ${value}`
    : `${bound === "at least" ? "over" : "under"} ${value}`;
  const [one, many] = origin === "string"
    ? ["character", "characters"]
    : ["array", "set", "map", "object", "record"].includes(origin)
    ? ["entry", "entries"]
    : [null, null];
  return many === null ? `must be ${limit}` : `must have ${limit} ${value === 1 ? one : many}`;
}

function quoted(values: readonly unknown[]): string {
  return values.map((one) => JSON.stringify(one)).join(", ");
}

/** The error of the alternative that the value is nearest to. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const within = issue.errors.map(([first]) => first).filter((one) => one !== undefined);
  const deepest = within.find(({ path }) => path.length > 0);
  if (deepest) return innermost({ ...deepest, path: [...issue.path, ...deepest.path] });
  const kinds = within.flatMap((one) => one.code === "invalid_type" ? [one.expected] : []);
  if (kinds.length === 0) return issue;
  const wanted = [...new Set(kinds.map((one) => TYPES[one] ?? one))].join(" or ");
  return { ...issue, message: `must be ${wanted}` };
}
