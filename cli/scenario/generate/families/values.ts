import { documented, type Family, nameOf, refusalsOf, type Story } from "../family.ts";
import { fillPath, type Operation, type Parameter, plain, sampleRequest } from "../operation.ts";
import { isObject } from "../../json.ts";
import { typeOf } from "../sample.ts";

interface Odd {
  name: string;
  value: string;
  depth: Family["depth"];
  why: string;
  priority: Story["priority"];
  forbidden?: Story["forbidden"];
}

/** Values at the limits of their type; one scenario for each parameter that they fit. */
const NUMBERS: Odd[] = [
  odd("negative", "-1", "light", "a counter that went below zero", "medium"),
  odd("zero", "0", "normal", "a page size of nothing", "medium"),
  odd("huge", "99999999999999999999", "normal", "a number beyond 64 bits", "medium"),
  odd("not_a_number", "NaN", "normal", "a calculation that failed in the browser", "medium"),
];
const PASSWD = { texts: ["root:x:0:0:", "root:*:0:0:"], traces: true };
const QUOTE = "%27%20OR%20%271%27%3D%271";
const TRAVERSAL = "..%2F".repeat(8) + "etc%2Fpasswd";
const CRLF = "x%0D%0AX-Injected:%20yes";
const SCRIPT = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
/** A product that only a program which computes it can answer, and never the text itself. */
const PRODUCT = { texts: [String(1_337 * 7_331)] };
const TEMPLATE = "%7B%7B1337*7331%7D%7D%24%7B1337*7331%7D%3C%25%3D1337*7331%25%3E";
const COMMAND = "x%3Bexpr%201337%20%5C*%207331%3B%23";
const TEXTS: Odd[] = [
  odd("empty", "", "normal", "a search for nothing", "low"),
  odd("pattern", "%5B%28*%3F%2B%5C%25_", "normal", "the signs of a search pattern", "medium"),
  odd("nul", "%00", "normal", "a text with a NUL character", "medium"),
  odd("bidi", "%E2%80%AEtxt.exe", "aggressive", "text that is drawn from right to left", "low"),
  odd("quote", QUOTE, "normal", "a quote that ends an SQL string", "high", { traces: true }),
  odd("traversal", TRAVERSAL, "normal", "a path out of its folder", "high", PASSWD),
  odd("crlf", CRLF, "normal", "a line break that ends a header", "high", {
    headers: ["X-Injected"],
  }),
  odd("markup", SCRIPT, "normal", "a piece of HTML", "high", {
    markup: ["<script>alert(1)</script>"],
  }),
  odd("template", TEMPLATE, "normal", "a formula of a page template", "high", PRODUCT),
  odd("command", COMMAND, "normal", "a second command for a shell", "high", PRODUCT),
  odd("long", "x".repeat(4_000), "aggressive", "a text of 4,000 characters", "low"),
];

/** Parameters at their limits: numbers, texts, dates, duplicates, broken encodings. */
export const VALUES: Family[] = [
  ...NUMBERS.map((one) => valueFamily("number", one, isNumber)),
  ...TEXTS.map((one) => valueFamily("text", one, (parameter) => !isNumber(parameter))),
  { name: "unknown_id", depth: "light", tell: unknownId },
  { name: "percent_broken", depth: "light", tell: brokenEncoding },
  { name: "query_twice", depth: "normal", tell: twice },
  { name: "date_limits", depth: "normal", tell: dates },
];

function odd(
  name: string,
  value: string,
  depth: Family["depth"],
  why: string,
  priority: Story["priority"],
  forbidden?: Story["forbidden"],
): Odd {
  return { name, value, depth, why, priority, forbidden };
}

function valueFamily(kind: string, one: Odd, fits: (parameter: Parameter) => boolean): Family {
  return {
    name: `${kind}_${one.name}`,
    depth: one.depth,
    tell: (operation) =>
      operation.parameters
        .filter((parameter) => ["query", "path"].includes(parameter.in) && fits(parameter))
        // An empty path segment is another path, not another value.
        .filter((parameter) => parameter.in === "query" || one.value !== "")
        .slice(0, 4)
        .map((parameter) => valueStory(operation, one, parameter)),
  };
}

function valueStory(operation: Operation, one: Odd, parameter: Parameter): Story {
  return {
    title: `Asking ${nameOf(operation)} with ${one.why} as ${parameter.name}`,
    who: "A user edits the address by hand, or a script fills it in unchecked.",
    steps: [`Send ${nameOf(operation)} with ${parameter.name}=${one.value.slice(0, 60)}`],
    chaos: [`${parameter.name} holds ${one.why}`],
    expected: "The request is refused with a clear message, or answered with an empty result.",
    failures: [
      "The value reaches the database or the file system unchecked",
      "An overflow or a type error becomes a 500",
    ],
    priority: one.priority,
    forbidden: one.forbidden,
    request: { path: withValue(operation, parameter, one.value) },
  };
}

/** Names of what an address chooses, and not of a record. */
const OPTION =
  /^(flags?|options?|formats?|modes?|lang|language|locale|units?|actions?|commands?|verb|view|sort|direction|seconds|delay|size|count|status_?code)$/i;

function unknownId(operation: Operation): Story | null {
  const last = operation.parameters.findLast((parameter) => parameter.in === "path");
  if (!last) return null;
  const value = isNumber(last) ? "2147483646" : unknownOf(last);
  const isRecord = !OPTION.test(last.name);
  const expected_status = isRecord && operation.method === "GET" && operation.security.length === 0
    ? documented(operation, 404)
    : undefined;
  const refused = expected_status !== undefined &&
    refusalsOf(operation, last.schema, value).length > 0;
  return {
    title: `Asking ${nameOf(operation)} for something that does not exist`,
    who: "A user opens a bookmark of something that was deleted since.",
    preconditions: [`Nothing has the ${last.name} ${value}`],
    steps: [`Send ${nameOf(operation)} with ${last.name} ${value}`],
    chaos: ["The record was deleted by somebody else"],
    expected: `The answer says that there is no such thing${refused ? ", or no such id" : ""}.`,
    failures: ["Reading a field of nothing becomes a 500", "An empty page looks like success"],
    priority: "medium",
    request: { path: withValue(operation, last, value) },
    expected_status,
    refused,
  };
}

function brokenEncoding(operation: Operation): Story | null {
  const parameter = operation.parameters.find(({ in: where }) => where === "path");
  if (!parameter) return null;
  return {
    title: `Asking ${nameOf(operation)} with a broken percent-encoding`,
    who: "A link was cut off in an e-mail, in the middle of an encoded character.",
    steps: [`Send ${nameOf(operation)} with %E0%A4%A as ${parameter.name}`],
    chaos: ["The path cannot be decoded"],
    expected: "The request is refused as malformed.",
    failures: ["decodeURIComponent throws and the exception becomes a 500"],
    priority: "medium",
    request: { path: withValue(operation, parameter, "%E0%A4%A") },
  };
}

function twice(operation: Operation): Story | null {
  const parameter = operation.parameters.find(({ in: where }) => where === "query");
  if (!parameter) return null;
  const { path } = sampleRequest(operation);
  const name = encodeURIComponent(parameter.name);
  const value = encodeURIComponent(plain(parameter.sample));
  const joined = `${path}${path.includes("?") ? "&" : "?"}${name}=${value}&${name}[]=${value}`;
  return {
    title: `Giving ${parameter.name} twice to ${nameOf(operation)}`,
    who: "A link was put together by two scripts, and each added its own filter.",
    steps: [`Send ${nameOf(operation)} with ${parameter.name} twice, once as an array`],
    chaos: ["The framework hands the handler an array where a text was expected"],
    expected: "The request is refused, or one of the values is used.",
    failures: ["Calling a string method on an array becomes a 500"],
    priority: "medium",
    request: { path: joined },
  };
}

const DATES = [
  ["the 29th of February of a year without one", "2023-02-29"],
  ["the year 9999", "9999-12-31"],
  ["an hour that summer time skips", "2026-03-29T02:30:00"],
  ["a day that has not begun where the server is", "2026-01-31T00:30:00+14:00"],
];

function dates(operation: Operation): Story[] {
  const parameter = operation.parameters.find(({ in: where, schema }) =>
    where === "query" && /^date/.test(String(schema.format))
  );
  const field = dateField(operation);
  if (!parameter && !field) return [];
  return DATES.map(([what, value]) => ({
    title: `Sending ${what} to ${nameOf(operation)}`,
    who: "A user picks a date that the calendar should not have offered.",
    steps: [`Send ${nameOf(operation)} with ${value} as ${field ?? parameter!.name}`],
    chaos: ["Calendars disagree about this date"],
    expected: "The date is refused, or understood the same way everywhere.",
    failures: ["The date silently becomes another one", "The date library throws"],
    priority: "medium",
    request: field
      ? { body: JSON.stringify({ ...operation.body!.sample as object, [field]: value }) }
      : { path: withValue(operation, parameter!, encodeURIComponent(value!)) },
  }));
}

function dateField({ body }: Operation): string | null {
  const properties = isObject(body?.schema.properties) ? body.schema.properties : {};
  const found = Object.entries(properties).find(([, schema]) =>
    isObject(schema) && /^date/.test(String(schema.format))
  );
  return found && isObject(body?.sample) ? found[0] : null;
}

/** The operation's sample path with raw text instead of one parameter's sample. */
function withValue(operation: Operation, parameter: Parameter, value: string): string {
  if (parameter.in === "path") {
    const query = sampleRequest(operation).path.split("?")[1];
    return fillPath(operation, { [parameter.name]: value }) + (query ? `?${query}` : "");
  }
  const others = operation.parameters.filter((one) =>
    one.in === "query" && one.required && one !== parameter
  );
  const pairs = others.map((one) =>
    `${encodeURIComponent(one.name)}=${encodeURIComponent(plain(one.sample))}`
  );
  pairs.push(`${encodeURIComponent(parameter.name)}=${value}`);
  return `${fillPath(operation)}?${pairs.join("&")}`;
}

function isNumber({ schema }: Parameter): boolean {
  return ["integer", "number"].includes(typeOf(schema));
}

function unknownOf({ schema }: Parameter): string {
  return schema.format === "uuid" ? "ffffffff-ffff-4fff-8fff-ffffffffffff" : "no-such-thing";
}
