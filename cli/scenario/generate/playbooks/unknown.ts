import { type Draft, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";
import { sampleRequest } from "../operation.ts";
import { made, makes, on, type Resource, tell } from "./resource.ts";

/** Changes a deleted record, which must fail. */
export function unknownRecord(resource: Resource): Draft[] {
  const { read, update, remove } = resource;
  if (!remove || !update?.statuses.includes(404)) return [];
  return [tell(update, {
    family: "unknown_record",
    title: `Sending ${nameOf(update)} to a record that was deleted`,
    who: "A user saves a form that has been open since before the record was deleted.",
    preconditions: makes(resource),
    steps: ["Make a record", "Delete it", `Send ${nameOf(update)}`],
    chaos: ["The record was deleted in another tab"],
    expected: "The answer says that there is no such record, and none comes into being.",
    failures: ["The change is answered as done and lost", "The record is back, half empty"],
    priority: "high",
  }, {
    steps: [
      ...made(resource),
      on(resource, remove, { name: "delete it", setup: true, expect: ["2xx"] }),
      on(resource, update, { name: "change it", expect: ["4xx"] }),
      ...(read ? [on(resource, read, { name: "read it", expect: ["4xx"] })] : []),
    ],
  })];
}

const UNLISTED = ["PUT", "PATCH", "POST", "DELETE"];

/** Sends a verb that the document does not name for a path. */
export function unlistedMethods(operations: Operation[]): Draft[] {
  const paths = new Map<string, Operation>();
  for (const operation of operations) {
    if (!paths.has(operation.path)) paths.set(operation.path, operation);
  }
  const known = new Set(operations.map(nameOf));
  return [...paths.values()].flatMap((operation) => {
    const method = UNLISTED.find((verb) => !known.has(`${verb} ${operation.path}`));
    // DELETE could remove data that somebody needs.
    if (!method || method === "DELETE") return [];
    const request = sampleRequest({ ...operation, method, body: null });
    return [tell(operation, {
      family: "method_unlisted",
      title: `Sending ${method} to ${operation.path}, which does not list it`,
      who: "A user of the interface guesses that what can be read can be written too.",
      steps: [`Send ${method} ${operation.path} with an empty object`],
      chaos: ["A handler that takes every verb"],
      expected: "The verb is refused with 405 or 404, and nothing is changed.",
      failures: ["An undocumented way in", "A read handler answers a write as if it were done"],
      priority: "medium",
    }, {
      steps: [{
        ...request,
        headers: { ...request.headers, "Content-Type": "application/json" },
        body: "{}",
        name: `send ${method}`,
        expect: ["4xx", 501],
      }],
    })];
  });
}
