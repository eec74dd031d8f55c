import { type Draft, nameOf } from "../family.ts";
import { collectionOf } from "../names.ts";
import { type Operation, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

/** A user who may not change a record, and deletes it all the same. */
export function unevenRights(remove: Operation, operations: Operation[]): Draft[] {
  if (remove.method !== "DELETE" || !remove.learned || remove.security.length === 0) return [];
  const change = operations.find(({ path, method, learned }) =>
    path === remove.path && ["PUT", "PATCH"].includes(method) && !learned
  );
  if (!change) return [];
  const as = remove.learned.as ?? "alice";
  const parameter = /\{([^{}]+)\}$/.exec(remove.path)?.[1];
  const list = parameter === undefined
    ? undefined
    : operations.find((one) =>
      one.method === "GET" && one.learned && !one.path.includes("{") &&
      collectionOf(one.path) === collectionOf(remove.path, parameter)
    );
  // The rehearsal's record is deleted, so the list names one that exists.
  if (!list || parameter === undefined) return [];
  const on = (operation: Operation) => sampleRequest(operation, { [parameter]: "{{id}}" });
  return [tell(remove, {
    family: "uneven_rights",
    title: `Deleting through ${nameOf(remove)} what one may not change`,
    who: "A user is refused while changing a record, and tries the other verbs.",
    preconditions: [`${nameOf(change)} is for others, such as the staff`],
    steps: [`Send ${nameOf(change)}, which is refused`, `Send ${nameOf(remove)}`],
    chaos: ["The role is asked for by some verbs only"],
    expected: "Who may not change a record may not delete it.",
    failures: ["A customer deletes what belongs to the shop"],
    priority: "critical",
  }, {
    identities: [as],
    steps: [
      {
        ...sampleRequest(list),
        name: "list them",
        as,
        setup: true,
        expect: ["2xx"],
        save: { id: `find:${parameter}|find:id|find:_id|find:uuid` },
      },
      { ...on(change), name: "change it", as, setup: true, expect: [403] },
      { ...on(remove), name: "delete it", as, denied: true, exists: true },
    ],
  })];
}
