import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

const AMOUNT =
  /^(amount|quantity|qty|price|total|sum|units|tickets|seats)$|_(amount|quantity|price)$|(Amount|Quantity|Price)$/;

/** A negative amount, which turns a payment around. */
export function negativeAmounts(operation: Operation): Draft[] {
  if (!isJson(operation) || !["POST", "PUT", "PATCH"].includes(operation.method)) return [];
  const sample = objectSample(operation);
  const fields = bodyFields(operation).map(([name]) => name)
    .filter((name) => AMOUNT.test(name) && Number.isFinite(Number(sample[name])));
  const request = sampleRequest(operation);
  return fields.slice(0, 2).map((name) =>
    tell(operation, {
      family: "negative_amount",
      title: `Sending a negative "${name}" to ${nameOf(operation)}`,
      who: "A user types a minus sign and looks whether the money comes back.",
      steps: [`Send ${nameOf(operation)} as usual`, `Send it with -5 as "${name}"`],
      chaos: ["The amount is subtracted without a look at its sign"],
      expected: "An amount below zero is refused.",
      failures: ["A payment becomes an income", "Stock goes up by an order"],
      priority: "critical",
    }, {
      steps: [
        { ...request, name: "as usual", setup: true, expect: ["2xx"] },
        {
          ...request,
          name: `with -5 as "${name}"`,
          body: JSON.stringify({
            ...sample,
            [name]: typeof sample[name] === "string" ? "-5" : -5,
          }),
          refuses: true,
        },
      ],
    })
  );
}
