import type { Playbook, PlaybookStep } from "../driver/playbook_schema.ts";
import type { Draft, Story } from "./family.ts";
import { draft, nameOf } from "./family.ts";
import { type Operation, sampleRequest } from "./operation.ts";

/** A collection that makes records, and the operations on one of them. */
interface Resource {
  create: Operation;
  read: Operation | null;
  update: Operation | null;
  remove: Operation | null;
  /** Name of the path parameter that holds the record's id. */
  parameter: string;
}

/** Scenarios of several requests, told as prose and carried out by their `playbook`. */
export function playbookDrafts(operations: Operation[]): Draft[] {
  return resourcesOf(operations).flatMap((resource) => [
    ...useAfterDelete(resource),
    ...foreignRecord(resource),
    ...failedWrite(resource),
    ...sameKeyTwice(resource),
  ]);
}

/** `POST /things` makes what `/things/{id}` reads: the producer and its consumers. */
function resourcesOf(operations: Operation[]): Resource[] {
  const creators = operations.filter(({ method, path }) =>
    method === "POST" && !path.endsWith("}")
  );
  return creators.flatMap((create) => {
    const prefix = `${create.path.replace(/\/$/, "")}/{`;
    const items = operations.filter(({ path }) =>
      path.startsWith(prefix) && !path.slice(prefix.length).includes("/")
    );
    const parameter = /\{([^{}]+)\}$/.exec(items[0]?.path ?? "")?.[1];
    if (parameter === undefined || create.path.includes("{")) return [];
    const find = (...methods: string[]) =>
      items.find(({ method }) => methods.includes(method)) ?? null;
    return [{
      create,
      parameter,
      read: find("GET"),
      update: find("PUT", "PATCH"),
      remove: find("DELETE"),
    }];
  });
}

function useAfterDelete(resource: Resource): Draft[] {
  const { create, read, remove } = resource;
  if (!read || !remove) return [];
  return [tell(resource, remove, {
    family: "use_after_delete",
    title: `Reading what ${nameOf(remove)} has deleted`,
    who: "A user has a record open in one tab and deletes it in another.",
    steps: ["Make a record", "Delete it", "Read it again", "Delete it again"],
    chaos: ["A cache or a second store still knows the record"],
    expected: "After the deletion the record is gone for every request.",
    failures: ["The deleted record is still shown", "Deleting it twice crashes"],
    priority: "high",
  }, {
    steps: [
      made(create),
      on(resource, remove, { name: "delete it", setup: true, expect: ["2xx"] }),
      on(resource, read, { name: "read it again", expect: [404, 410, 403] }),
      on(resource, remove, { name: "delete it again", expect: ["2xx", 404, 410, 409] }),
    ],
  })];
}

function foreignRecord(resource: Resource): Draft[] {
  const { create, read } = resource;
  if (!read || read.security.length === 0) return [];
  const touched = [read, resource.update, resource.remove].filter((one) => one !== null);
  return touched.map((operation) =>
    tell(resource, operation, {
      family: "foreign_record",
      title: `Using somebody else's record through ${nameOf(operation)}`,
      who: "Bob changes the number in the address and arrives at a record of Alice.",
      preconditions: ["Two users, alice and bob, who share nothing"],
      steps: ["Alice makes a record", `Bob sends ${nameOf(operation)} with its id`],
      chaos: ["Ids can be guessed or are shown elsewhere"],
      expected: "Bob is refused, or told that there is no such record.",
      failures: ["Bob reads or changes what belongs to Alice"],
      priority: "critical",
    }, {
      identities: ["alice", "bob"],
      steps: [
        { ...made(create), as: "alice" },
        {
          ...on(resource, read, { name: "alice reads it", setup: true, expect: ["2xx"] }),
          as: "alice",
        },
        {
          ...on(resource, operation, { name: "bob tries", expect: [401, 403, 404, 405] }),
          as: "bob",
        },
      ],
    })
  );
}

function failedWrite(resource: Resource): Draft[] {
  const { create, read, update } = resource;
  if (!read || !update?.body || !/json/i.test(update.body.content_type)) return [];
  return [tell(resource, update, {
    family: "failed_write",
    title: `A refused ${nameOf(update)} that changes something all the same`,
    who: "A user sends a form that is half right.",
    steps: ["Make a record and read it", "Send a broken change", "Read it again"],
    chaos: ["The change is stored field by field before it is checked"],
    expected: "A change that is refused leaves the record as it was.",
    failures: ["Half of the change is stored"],
    priority: "high",
  }, {
    steps: [
      made(create),
      on(resource, read, { name: "read it", setup: true, expect: ["2xx"] }),
      {
        ...on(resource, update, { name: "break it", setup: true, expect: ["4xx"] }),
        body: '{"broken": ',
      },
      on(resource, read, { name: "read it again", same_as: "read it" }),
    ],
  })];
}

function sameKeyTwice(resource: Resource): Draft[] {
  const { create } = resource;
  const key = create.parameters.find(({ name, in: where }) =>
    where === "header" && /idempotency/i.test(name)
  );
  if (!key) return [];
  const request = made(create);
  const headers = { ...request.headers, [key.name]: "key-{{uniq}}" };
  return [tell(resource, create, {
    family: "same_key_twice",
    title: `Repeating ${nameOf(create)} with one idempotency key`,
    who: "A phone repeats its request because the first answer was lost.",
    steps: ["Send the request with a key", "Send it again with the same key"],
    chaos: ["The first request was done, only its answer was lost"],
    expected: "The second answer is the first one again, and nothing is made twice.",
    failures: ["A second record is made", "The repetition crashes"],
    priority: "critical",
  }, {
    steps: [
      { ...request, headers, name: "send it" },
      {
        ...request,
        headers,
        name: "send it again",
        setup: false,
        expect: ["2xx", 409],
        same_as: "send it",
        save: undefined,
      },
    ],
  })];
}

/** Making a record, its id kept from the Location header or the usual members of the answer. */
function made(create: Operation): PlaybookStep {
  const id = "body:/id|body:/data/id|body:/uuid|body:/_id|header:Location";
  const request = sampleRequest(create);
  const path = request.path;
  return { name: "make it", ...request, path, setup: true, expect: ["2xx"], save: { id } };
}

function on(
  resource: Resource,
  operation: Operation,
  step: Pick<PlaybookStep, "name"> & Partial<PlaybookStep>,
) {
  const request = sampleRequest(operation);
  const path = operation.path.replace(`{${resource.parameter}}`, "{{id}}");
  const query = request.path.split("?")[1];
  return { ...request, path: query ? `${path}?${query}` : path, ...step } as PlaybookStep;
}

function tell(resource: Resource, operation: Operation, story: Story, playbook: Playbook): Draft {
  const { exec: _exec, ...rest } = draft(operation, {
    preconditions: [`${nameOf(resource.create)} makes a record`],
    ...story,
  });
  return { ...rest, playbook };
}
