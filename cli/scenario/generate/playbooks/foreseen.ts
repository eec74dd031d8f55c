import { type Draft, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";
import { freshBody, freshRequest, tell } from "./resource.ts";

/** Makes two records, and compares the numbers by which nobody else should know them. */
export function foreseenNumbers(operation: Operation): Draft[] {
  const { learned, method } = operation;
  if (method !== "POST" || !learned) return [];
  const request = freshRequest(operation);
  const as = learned.as === null ? {} : { as: learned.as };
  const first = "send it";
  return [tell(operation, {
    family: "foreseen_number",
    title: `Foreseeing the numbers that ${nameOf(operation)} gives`,
    who: "Somebody looks at the reference of their own payment and types the next one.",
    steps: [`Send ${nameOf(operation)} twice`, "Compare the references, codes and tokens"],
    chaos: ["The number is the time, or the one before plus one"],
    expected: "Nobody can work out the references, codes or tokens of others.",
    failures: ["What belongs to others is found by counting"],
    priority: "medium",
  }, {
    steps: [1, 2].map((n) => ({
      ...request,
      body: freshBody(request.body, n),
      name: n === 1 ? first : "send it again",
      ...(n === 1 ? { setup: true, expect: ["2xx" as const] } : { foreseen: first }),
      ...as,
    })),
  })];
}
