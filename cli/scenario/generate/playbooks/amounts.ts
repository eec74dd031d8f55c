import { type Draft, nameOf } from "../family.ts";
import {
  bodyFields,
  bodyWith,
  hasFields,
  objectSample,
  type Operation,
  sampleRequest,
  type Schema,
} from "../operation.ts";
import { tell } from "./resource.ts";

const AMOUNT =
  /^(amount|quantity|qty|price|total|sum|units|tickets|seats)$|_(amount|quantity|price)$|(Amount|Quantity|Price)$|^(card|credit|daily|monthly|spending|transfer)_?[lL]imit$/;
/** Of these, nobody orders or pays none. A price of zero is a gift. */
const COUNTED = /amount|quantity|qty|units|tickets|seats/i;
/** A cart takes zero to remove something. */
const CART = /cart|basket/i;

interface Odd {
  family: "negative_amount" | "zero_amount";
  value: number;
  words: string;
  who: string;
  chaos: string;
  failures: string[];
  priority: "critical" | "medium";
}

const NEGATIVE: Odd = {
  family: "negative_amount",
  value: -5,
  words: "a negative",
  who: "A user types a minus sign and looks whether the money comes back.",
  chaos: "The amount is subtracted without a look at its sign",
  failures: ["A payment becomes an income", "Stock goes up by an order"],
  priority: "critical",
};
const ZERO: Odd = {
  family: "zero_amount",
  value: 0,
  words: "a zero as",
  who: "A user clears the field, and the form sends a zero.",
  chaos: "The amount is compared with a limit above it only",
  failures: ["An order or a payment of nothing is recorded"],
  priority: "medium",
};

/** A negative amount, which turns a payment around, and one of zero. */
export function oddAmounts(operation: Operation): Draft[] {
  const { method, path } = operation;
  if (!hasFields(operation) || !["POST", "PUT", "PATCH"].includes(method)) return [];
  const sample = objectSample(operation);
  const fields = bodyFields(operation).filter(([name]) =>
    AMOUNT.test(name) && Number.isFinite(Number(sample[name]))
  );
  const zero = fields.filter(([name]) =>
    COUNTED.test(name) && method === "POST" && !CART.test(path)
  );
  return [
    ...fields.filter(([, schema]) => !allows(schema, NEGATIVE.value)).slice(0, 2)
      .map(([name]) => drafted(operation, name, NEGATIVE)),
    ...zero.filter(([, schema]) => !allows(schema, ZERO.value)).slice(0, 1)
      .map(([name]) => drafted(operation, name, ZERO)),
  ];
}

/** True where the document names a least value that is no more than this. */
function allows({ minimum }: Schema, value: number): boolean {
  return typeof minimum === "number" && minimum <= value;
}

function drafted(operation: Operation, name: string, odd: Odd): Draft {
  const request = sampleRequest(operation);
  const text = `${odd.value}`;
  const value = typeof objectSample(operation)[name] === "string" ? text : odd.value;
  return tell(operation, {
    family: odd.family,
    title: `Sending ${odd.words} "${name}" to ${nameOf(operation)}`,
    who: odd.who,
    steps: [`Send ${nameOf(operation)} as usual`, `Send it with ${text} as "${name}"`],
    chaos: [odd.chaos],
    expected: `${odd.value === 0 ? "An amount of nothing" : "An amount below zero"} is refused.`,
    failures: odd.failures,
    priority: odd.priority,
  }, {
    steps: [
      { ...request, name: "as usual", setup: true, expect: ["2xx"] },
      {
        ...request,
        name: `with ${text} as "${name}"`,
        body: bodyWith(operation, { [name]: value }),
        refuses: true,
      },
    ],
  });
}
