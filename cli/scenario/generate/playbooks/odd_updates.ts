import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";
import { made, makes, pathOn, type Resource, resourcesOf, tell } from "./resource.ts";

/** The default budget is 30 requests, and making the record takes up to two. */
const STEPS = 25;

/**
 * Sends the odd bodies of the single-request families to a record that exists. Alone each of them
 * would only get 404.
 */
export function oddUpdates(operations: Operation[], drafts: readonly Draft[]): Draft[] {
  return resourcesOf(operations).flatMap((resource) =>
    [resource.update, ...resource.actions].filter((one) => one !== null)
      .filter(({ parameters }) => !parameters.some(({ name }) => /^if-match$/i.test(name)))
      .flatMap((operation) => oddBodies(resource, operation, drafts))
  );
}

function oddBodies(resource: Resource, target: Operation, drafts: readonly Draft[]): Draft[] {
  const steps = drafts
    .filter(({ operation, family }) => operation === target && ODD.test(family))
    .slice(0, STEPS)
    .map((draft) => stepOf(resource, draft));
  if (steps.length === 0) return [];
  return [tell(target, {
    family: "odd_updates",
    title: `Sending odd bodies through ${nameOf(target)} to a record that exists`,
    who: "Several versions of an app save the same record, and not all of them are right.",
    preconditions: makes(resource),
    steps: ["Make a record", ...steps.map(({ name }) => name)],
    chaos: ["Missing fields, wrong types and broken documents meet real data"],
    expected: "What breaks the documented rules is refused, and nothing makes the server fail.",
    failures: ["A handler that found its record uses the body unchecked and crashes"],
    priority: "high",
  }, { steps: [...made(resource), ...steps] })];
}

/** The families of odd bodies, without those that strain the target. */
const ODD = /^(field_|body_(malformed|empty|null|array|number|string|content_type|charset))/;

function stepOf(resource: Resource, { title, exec, operation }: Draft): PlaybookStep {
  const { method = "", headers, body, expected_end, forbidden } = exec!;
  return {
    name: title,
    method,
    path: pathOn(resource, operation),
    headers,
    body,
    forbidden,
    ...(expected_end === "refused" ? { expect: ["4xx" as const] } : {}),
  };
}
