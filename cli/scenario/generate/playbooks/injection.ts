import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import {
  bodyFields,
  bodyWith,
  hasFields,
  objectSample,
  type Operation,
  plain,
  sampleRequest,
} from "../operation.ts";
import { typeOf } from "../sample.ts";
import { tell } from "./resource.ts";

/** The most places of one operation that are tried. */
export const PLACES = 4;

/** One place of a request for a text: a parameter or a field of the body. */
export interface Place {
  name: string;
  isNumber: boolean;
  /** The request with a text in this place. */
  request: (value: string) => ReturnType<typeof sampleRequest>;
}

/** Ends a text of the query with a quote, and adds a condition that is always true. */
export function injections(operation: Operation): Draft[] {
  return placesOf(operation).slice(0, PLACES).map((place) =>
    tell(operation, {
      family: "sql_injection",
      title: `Ending the query of ${nameOf(operation)} through ${place.name}`,
      who: "An attacker types a quote and looks whether the service answers in another way.",
      steps: [
        `Send an unknown ${place.name}, then one with two quotes, then one with a lone quote`,
        "Send an unknown one with a condition that is always true",
      ],
      chaos: [`${place.name} becomes part of a query`],
      expected: "A quote is a character like any other: no crash, and nothing is found by it.",
      failures: ["The whole table can be read or changed", "A login succeeds without a password"],
      priority: "critical",
    }, { steps: stepsOf(place) })
  );
}

function stepsOf({ name, isNumber, request }: Place): PlaybookStep[] {
  const unknown = isNumber ? "2147483646" : "nosuch{{uniq}}";
  const always = isNumber ? [`${unknown} OR 1=1`] : [
    `${unknown}' OR '1'='1`,
    `${unknown}' OR '1'='1' -- `,
  ];
  const never = isNumber ? `${unknown} AND 1=2` : `${unknown}' AND '1'='2`;
  const quotes: PlaybookStep[] = isNumber ? [] : [
    { ...request(`${unknown}''`), name: `${name} with two quotes`, probe: true },
    {
      ...request(`${unknown}'`),
      name: `${name} with a lone quote`,
      breaks_unlike: `${name} with two quotes`,
    },
  ];
  return [
    { ...request(unknown), name: `an unknown ${name}`, probe: true },
    { ...request(never), name: `${name} with a condition that is never true`, probe: true },
    ...quotes,
    ...always.map((value, n) => ({
      ...request(value),
      name: `${name} with a condition that is always true${n === 0 ? "" : ", and a comment"}`,
      opens_unlike: `an unknown ${name}`,
      closed_unlike: `${name} with a condition that is never true`,
    })),
  ];
}

/** The places of an operation's request that take a text or a number. */
export function placesOf(operation: Operation): Place[] {
  const request = sampleRequest(operation);
  const parameters = operation.parameters.filter((one) =>
    (one.in === "path" || one.in === "query") && !one.schema.enum && one.schema.format === undefined
  ).map((parameter): Place => ({
    name: parameter.name,
    isNumber: ["integer", "number"].includes(typeOf(parameter.schema)),
    request: (value) => {
      const parameters = operation.parameters.map((one) =>
        one === parameter ? { ...one, sample: value, required: true } : one
      );
      return { ...request, path: sampleRequest({ ...operation, parameters }).path };
    },
  }));
  if (!hasFields(operation)) return parameters;
  const sample = objectSample(operation);
  const fields = bodyFields(operation).filter(([name, schema]) =>
    typeof sample[name] === "string" && !schema.enum && schema.format !== "date-time"
  ).map(([name]): Place => ({
    name,
    isNumber: false,
    request: (value) => ({ ...request, body: bodyWith(operation, { [name]: plain(value) }) }),
  }));
  return [...parameters, ...fields];
}
