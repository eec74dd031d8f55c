import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation } from "../operation.ts";
import { isFreeText, typeOf } from "../sample.ts";
import { longestList } from "./lists.ts";
import { made, makes, on, pathOn, type Resource, resourcesOf, tell } from "./resource.ts";

/** Reads, lists and deletes a record after its deletion. */
export function useAfterDelete(resource: Resource): Draft[] {
  const { read, remove, list } = resource;
  if (!read || !remove) return [];
  const listed = list && on(resource, list, {
    name: "list them",
    expect: ["2xx"],
    hides: "{{id}}",
    path: longestList(list, pathOn(resource, list)),
  });
  return [tell(remove, {
    family: "use_after_delete",
    title: `Reading what ${nameOf(remove)} has deleted`,
    who: "A user has a record open in one tab and deletes it in another.",
    preconditions: makes(resource),
    steps: ["Make a record", "Delete it", "Read it again", "Delete it again"],
    chaos: ["A cache or a second store still knows the record"],
    expected: "After the deletion the record is gone for every request.",
    failures: ["The deleted record is still shown", "Deleting it twice crashes"],
    priority: "high",
  }, {
    steps: [
      ...made(resource),
      on(resource, read, { name: "read it", setup: true, expect: ["2xx"] }),
      on(resource, remove, { name: "delete it", setup: true, expect: ["2xx"] }),
      on(resource, read, { name: "read it again", expect: [404, 410, 403] }),
      ...(listed ? [listed] : []),
      on(resource, remove, { name: "delete it again", expect: ["2xx", 404, 410, 409] }),
    ],
  })];
}

/** A refused change (broken JSON, one bad field) must leave the record unchanged. */
export function failedWrite(resource: Resource): Draft[] {
  const { read, update } = resource;
  if (!read || !update?.body || !isJson(update)) return [];
  const read_it = { setup: true, expect: ["2xx" as const] };
  const broken = (name: string, body: string, setup: boolean): PlaybookStep => ({
    ...on(resource, update, { name, setup, expect: ["4xx"] }),
    body,
  });
  const half = halfBroken(update);
  return [tell(update, {
    family: "failed_write",
    title: `A refused ${nameOf(update)} that changes something all the same`,
    who: "A user sends a form that is half right.",
    preconditions: makes(resource),
    steps: ["Make a record and read it", "Send a broken change", "Read it again"],
    chaos: ["The change is stored field by field before it is checked"],
    expected: "A change that is refused leaves the record as it was.",
    failures: ["Half of the change is stored"],
    priority: "high",
  }, {
    steps: [
      ...made(resource),
      on(resource, read, { name: "read it", ...read_it }),
      broken("break it", '{"broken": ', true),
      on(resource, read, { name: "read it again", same_as: "read it" }),
      ...(half === null ? [] : [
        broken("break one field", half, true),
        on(resource, read, { name: "read it at last", same_as: "read it" }),
      ]),
    ],
  })];
}

/** Two users change the same version of a record; the second change must be refused. */
export function lostUpdate(resource: Resource): Draft[] {
  const { read, update } = resource;
  const condition = update?.parameters.find(({ name }) => /^if-match$/i.test(name))?.name;
  if (!read || !update || !condition) return [];
  const change = (name: string, step: Partial<PlaybookStep>): PlaybookStep => {
    const request = on(resource, update, { name, ...step });
    return { ...request, headers: { ...request.headers, [condition]: "{{version}}" } };
  };
  return [tell(update, {
    family: "lost_update",
    title: `Changing with ${nameOf(update)} what somebody else has changed since`,
    who: "Two colleagues open the same record, and both press Save.",
    preconditions: makes(resource),
    steps: ["Make a record and read its version", "Change it", "Change it with the old version"],
    chaos: ["The second change was prepared before the first was stored"],
    expected: "The second change is refused with 412: its version is not the current one.",
    failures: ["The first colleague's change is lost and nobody is told"],
    priority: "critical",
  }, {
    steps: [
      ...made(resource),
      on(resource, read, {
        name: "read its version",
        setup: true,
        expect: ["2xx"],
        save: { version: "header:ETag" },
      }),
      change("change it", { setup: true, expect: ["2xx"] }),
      change("change it again", { expect: [412, 409, 428] }),
    ],
  })];
}

/** Fields that a caller must not set unless the document offers them. */
const PRIVILEGES = {
  role: "admin",
  roles: ["admin"],
  is_admin: true,
  isAdmin: true,
  admin: true,
  verified: true,
  owner_id: 1,
  ownerId: 1,
  balance: 1_000_000,
  credit: 1_000_000,
};

function privilegesFor(operation: Operation): Record<string, unknown> {
  const own = new Set(bodyFields(operation).map(([name]) => name));
  return Object.fromEntries(Object.entries(PRIVILEGES).filter(([name]) => !own.has(name)));
}

/** Adds privileged fields to a change and reads them back. */
export function massAssignment(operation: Operation, operations: Operation[]): Draft[] {
  const { method, path } = operation;
  if (!["PUT", "PATCH"].includes(method) || !isJson(operation)) return [];
  if (typeOf(operation.body!.schema) !== "object") return [];
  const read = operations.find((one) => one.method === "GET" && one.path === path);
  const resource = resourcesOf(operations).find(({ update }) => update === operation);
  if (!read || (path.includes("{") && !resource)) return [];
  const added = privilegesFor(operation);
  const place = resource ?? { parameter: "", parent: null };
  const body = JSON.stringify({ ...objectSample(operation), ...added });
  const members = Object.keys(added);
  return [tell(operation, {
    family: "mass_assignment",
    title: `Becoming an administrator through ${nameOf(operation)}`,
    who: "A user adds fields to the request that no form offers.",
    preconditions: resource ? makes(resource) : undefined,
    steps: ["Read the record", `Change it with ${members.join(", ")} added`, "Read it again"],
    chaos: ["The service binds every field that it is sent"],
    expected: "Fields that are not the user's to set are refused or ignored.",
    failures: ["The user has given themselves a role or money"],
    priority: "critical",
  }, {
    steps: [
      ...(resource ? made(resource) : []),
      on(place, read, { name: "read it", setup: true, expect: ["2xx"] }),
      { ...on(place, operation, { name: "change it", expect: ["2xx", "4xx"] }), body },
      on(place, read, { name: "read it again", unchanged: { since: "read it", members } }),
    ],
  })];
}

/** Makes a record with privileged fields and compares it with one made without them. */
export function privilegedCreate(resource: Resource): Draft[] {
  const { create, read } = resource;
  if (!read || !isJson(create) || typeOf(create.body!.schema) !== "object") return [];
  const added = privilegesFor(create);
  const members = Object.keys(added);
  const making = made(resource);
  const plain = making.at(-1)!;
  const body = JSON.stringify({ ...JSON.parse(plain.body!), ...added });
  const fresh = body.replaceAll("{{uniq}}", "{{uniq}}x");
  return [tell(create, {
    family: "privileged_create",
    title: `Making a record with a role through ${nameOf(create)}`,
    who: "A user signs up with fields in the request that no form offers.",
    preconditions: makes(resource),
    steps: ["Make a record and read it", `Make one with ${members.join(", ")}`, "Read that too"],
    chaos: ["The service stores every field that it is sent"],
    expected: "Fields that are not the user's to set are refused or ignored.",
    failures: ["The new record has rights or money that nobody gave it"],
    priority: "critical",
  }, {
    steps: [
      ...making,
      on(resource, read, { name: "read it", setup: true, expect: ["2xx"] }),
      { ...plain, name: "make one with more", body: fresh },
      on(resource, read, { name: "read that", unchanged: { since: "read it", members } }),
    ],
  })];
}

/** A body with all text fields changed and the last field of a wrong type; null without two. */
function halfBroken(update: Operation): string | null {
  const fields = bodyFields(update).filter(([, schema]) => typeof schema.type === "string");
  const [last, schema] = fields.at(-1) ?? [];
  if (fields.length < 2 || last === undefined || schema === undefined) return null;
  const wrong = schema.type === "string" ? { nested: [1] } : "not a number";
  const others = fields.slice(0, -1).filter(([, one]) => isFreeText(one));
  const changed = Object.fromEntries(others.map(([name]) => [name, "changed"]));
  return JSON.stringify({ ...objectSample(update), ...changed, [last]: wrong });
}
