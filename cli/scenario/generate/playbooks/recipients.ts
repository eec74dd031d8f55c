import { type Draft, nameOf } from "../family.ts";
import {
  bodyFields,
  bodyWith,
  hasFields,
  objectSample,
  type Operation,
  sampleRequest,
} from "../operation.ts";
import { tell } from "./resource.ts";

/**
 * Fields for a record of the service that gets the money. Others may name an account of another
 * bank, or a person.
 */
const RECIPIENT =
  /^(to|recipient|receiver|payee|biller|beneficiary|merchant|destination)_?(id|account|account_?id|account_?number)$/i;
const AMOUNT = /(^|_)amount$|Amount$/;

/** A payment to somebody who does not exist. */
export function unknownRecipient(operation: Operation): Draft[] {
  const { method } = operation;
  if (method !== "POST" || !hasFields(operation)) return [];
  const fields = bodyFields(operation);
  const sample = objectSample(operation);
  const [name] = fields.find(([name]) => RECIPIENT.test(name) && sample[name] !== undefined) ?? [];
  if (name === undefined || !fields.some(([name]) => AMOUNT.test(name))) return [];
  const nobody = nobodyLike(sample[name]);
  if (nobody === null) return [];
  const request = sampleRequest(operation);
  return [tell(operation, {
    family: "unknown_recipient",
    title: `Paying somebody who does not exist with ${nameOf(operation)}`,
    who: "A user mistypes a number while paying.",
    steps: [`Send ${nameOf(operation)} as usual`, `Send it with an unknown "${name}"`],
    chaos: [`Nobody looks whether "${name}" exists`],
    expected: "A payment to nobody is refused, and nothing is taken from the account.",
    failures: ["The money leaves the account and arrives nowhere"],
    priority: "high",
  }, {
    steps: [
      { ...request, name: "as usual", setup: true, expect: ["2xx"] },
      {
        ...request,
        name: `with an unknown "${name}"`,
        body: bodyWith(operation, { [name]: nobody }),
        refuses: true,
      },
    ],
  })];
}

/** A value of the same kind that nobody has; null where the kind is not known. */
function nobodyLike(value: unknown): string | number | null {
  if (typeof value === "number") return 2_147_483_646;
  if (typeof value !== "string" || value === "") return null;
  return /^\d+$/.test(value) ? "9".repeat(value.length) : "nosuch{{uniq}}";
}
