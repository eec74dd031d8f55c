import { type Family, nameOf, type Story } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, type Schema } from "../operation.ts";
import { QUERY_TYPE } from "../query_body.ts";
import { isFreeText, typeOf } from "../sample.ts";
import { bodyStory } from "./body.ts";

/** A product that only a program which computes it can answer, and never the text itself. */
const PRODUCT = { texts: [String(1_337 * 7_331)] };
/** At most this many fields of one body get a scenario. */
const MOST = 6;

/** One field of a JSON body that is missing, of the wrong type, or at the limits of its type. */
export const FIELDS: Family[] = [
  { name: "field_missing", depth: "light", tell: missingFields },
  { name: "field_type", depth: "normal", tell: wrongTypes },
  odd("field_huge", "normal", isNumber, {
    value: 1e20,
    words: "a number beyond 64 bits",
    who: "A user leans on the key that adds a zero.",
    fails: "An allocation or a column of that size is tried",
    priority: "high",
  }),
  odd("field_negative", "normal", isNumber, {
    value: -1,
    words: "-1",
    who: "A user types a minus sign where nobody thought of one.",
    fails: "Stock, money or a page number goes the other way",
    priority: "high",
  }),
  odd("field_fraction", "aggressive", (schema) => typeOf(schema) === "integer", {
    value: 1.5,
    words: "a fraction",
    who: "A user buys one and a half of something.",
    fails: "A fraction is rounded by one part of the system and not by another",
    priority: "medium",
  }),
  odd("field_surrogate", "normal", isFreeText, {
    value: "half an emoji \ud83d",
    words: "half of an emoji",
    who: "An app cuts a text after a number of characters, in the middle of an emoji.",
    fails: "encodeURIComponent, a UTF-8 encoder or the database throws on a lone surrogate",
    priority: "medium",
  }),
  odd("field_control", "normal", isFreeText, {
    value: "nul \u0000 and \u202eright to left",
    words: "NUL and an invisible character",
    who: "A text is pasted out of a binary file.",
    fails: "The database refuses the character and the refusal becomes a 500",
    priority: "medium",
  }),
  odd("field_pattern", "normal", isFreeText, {
    value: "[(*?+\\%_",
    words: "the signs of a search pattern",
    who: "A user pastes a line of code into a form.",
    fails: "The text becomes part of a regular expression or a query, which breaks",
    priority: "medium",
  }),
  odd("field_command", "normal", isFreeText, {
    value: "x;expr 1337 \\* 7331;#",
    words: "a second command for a shell",
    who: "An attacker ends the command that the service builds, and adds another.",
    fails: "The text becomes part of a command line",
    priority: "high",
    forbidden: PRODUCT,
  }),
  odd("field_template", "normal", isFreeText, {
    value: "{{1337*7331}}${1337*7331}<%=1337*7331%>",
    words: "a formula of a page template",
    who: "An attacker types what a template engine computes.",
    fails: "The text becomes part of a template",
    priority: "high",
    forbidden: PRODUCT,
  }),
  odd("field_null", "aggressive", () => true, {
    value: null,
    words: "null",
    who: "A form library sends null for what was left empty.",
    fails: "Calling a method on null crashes the handler",
    priority: "medium",
  }),
];

interface Odd {
  value: unknown;
  words: string;
  who: string;
  fails: string;
  priority: Story["priority"];
  forbidden?: Story["forbidden"];
}

function odd(
  name: string,
  depth: Family["depth"],
  fits: (schema: Schema) => boolean,
  one: Odd,
): Family {
  return {
    name,
    depth,
    tell: (operation) =>
      fieldsOf(operation).filter(([, schema]) => fits(schema)).slice(0, MOST / 2)
        .map(([field, schema]) =>
          bodyStory(operation, {
            title: `Sending ${one.words} as "${field}" to ${nameOf(operation)}`,
            who: one.who,
            step: `Send the usual body with ${one.words} as "${field}"`,
            chaos: [`"${field}" holds ${one.words}`],
            expected: "The value is refused and named, or stored as it was sent.",
            failures: [one.fails, "A value that the document rules out is stored"],
            priority: one.priority,
            body: JSON.stringify({ ...objectSample(operation), [field]: one.value }),
            refuse: breaksRules(one.value, schema),
            forbidden: one.forbidden,
          })
        ),
  };
}

function missingFields(operation: Operation): Story[] {
  if (!operation.body || !isJson(operation)) return [];
  const required = operation.body.schema.required;
  return (Array.isArray(required) ? required : []).slice(0, MOST).map((name) => {
    const { [String(name)]: _left, ...rest } = objectSample(operation);
    return bodyStory(operation, {
      title: `Leaving out "${name}" in ${nameOf(operation)}`,
      who: "An older version of the app does not know this field yet.",
      step: `Send the usual body without "${name}"`,
      chaos: ["A client that is one version behind"],
      expected: `The request is refused and names "${name}".`,
      failures: [
        `The handler uses "${name}" unchecked and crashes`,
        "An incomplete record is stored",
      ],
      priority: "medium",
      body: JSON.stringify(rest),
      refuse: true,
    });
  });
}

function wrongTypes(operation: Operation): Story[] {
  // A query is text: only a number in it can be of a wrong type.
  const isQuery = operation.body?.content_type === QUERY_TYPE;
  const fields = fieldsOf(operation).filter(([, schema]) => !isQuery || isNumber(schema));
  return fields.slice(0, MOST).map(([name, schema]) => {
    const wrong = typeOf(schema) === "string" ? { nested: [1] } : "not a number";
    return bodyStory(operation, {
      title: `Sending the wrong type for "${name}" to ${nameOf(operation)}`,
      who: "A spreadsheet export puts text where a number belongs, or the other way round.",
      step: `Send the usual body with ${JSON.stringify(wrong)} as "${name}"`,
      chaos: ["The value has a type the handler never saw"],
      expected: `The request is refused and names "${name}".`,
      failures: ["A type error in the handler becomes a 500", "The wrong type is stored"],
      priority: "medium",
      body: JSON.stringify({ ...objectSample(operation), [name]: wrong }),
      refuse: typeof schema.type === "string",
    });
  });
}

function fieldsOf(operation: Operation): [string, Schema][] {
  return isJson(operation) ? bodyFields(operation) : [];
}

function isNumber(schema: Schema): boolean {
  return ["integer", "number"].includes(typeOf(schema));
}

/** True when the document excludes the value. */
function breaksRules(value: unknown, schema: Schema): boolean {
  if (value === null) return typeof schema.type === "string" && schema.nullable !== true;
  if (typeof value !== "number") return false;
  const { minimum, maximum, type } = schema;
  return (typeof minimum === "number" && value < minimum) ||
    (typeof maximum === "number" && value > maximum) ||
    (type === "integer" && !Number.isInteger(value));
}
