import { type Draft, nameOf, refusalsOf } from "../family.ts";
import { type Operation, sampleRequest } from "../operation.ts";
import { isRuledOut } from "../sample.ts";
import { longestList } from "./lists.ts";
import { made, on, pathOn, type Resource, tell } from "./resource.ts";

const TWO_USERS = ["Two users, alice and bob, who share nothing (--as alice=… --as bob=…)"];

/** Another user reads, changes, deletes or acts on the record of the first. */
export function foreignRecord(resource: Resource): Draft[] {
  const { read, update, remove, actions, list } = resource;
  if (!read || read.security.length === 0) return [];
  const touched = [read, update, remove, ...actions].filter((one) => one !== null);
  return touched.map((operation) =>
    tell(operation, {
      family: "foreign_record",
      title: `Using somebody else's record through ${nameOf(operation)}`,
      who: "Bob changes the number in the address and arrives at a record of Alice.",
      preconditions: TWO_USERS,
      steps: ["Alice makes a record", `Bob sends ${nameOf(operation)} with its id`],
      chaos: ["Ids can be guessed or are shown elsewhere"],
      expected: "Bob is refused, or told that there is no such record.",
      failures: ["Bob reads or changes what belongs to Alice"],
      priority: "critical",
    }, {
      identities: ["alice", "bob"],
      steps: [
        ...made(resource, { as: "alice" }),
        on(resource, read, { name: "alice reads it", setup: true, expect: ["2xx"], as: "alice" }),
        ...(list ? [on(resource, list, { name: "bob lists", setup: true, as: "bob" })] : []),
        on(resource, operation, {
          name: "bob tries",
          denied: true,
          ...(list && operation === read ? { shared_in: "bob lists" } : {}),
          as: "bob",
        }),
        // Only a request that works for Alice shows that Bob was refused for who he is.
        ...(operation === read
          ? []
          : [on(resource, operation, { name: "alice does it", control: true, as: "alice" })]),
      ],
    })
  );
}

/** Different refusals (403, 404) tell a user which records of others exist. */
export function existenceLeak(resource: Resource): Draft[] {
  const { read } = resource;
  // A document that names 403 tells it on purpose.
  if (!read || read.security.length === 0 || read.statuses.includes(403)) return [];
  const unknown = unknownId(resource, read);
  if (unknown === null) return [];
  return [tell(read, {
    family: "existence_leak",
    title: `Finding out through ${nameOf(read)} which records exist`,
    who: "Bob tries ids and looks at how he is refused.",
    preconditions: TWO_USERS,
    steps: ["Alice makes a record", "Bob asks for it", "Bob asks for one that nobody has made"],
    chaos: ["One refusal comes from a lookup, the other from a check of rights"],
    expected: "Bob is refused in the same way, whether there is such a record or not.",
    failures: ["Ids, and so customers or invoices, can be counted"],
    priority: "low",
  }, {
    identities: ["alice", "bob"],
    steps: [
      ...made(resource, { as: "alice" }),
      on(resource, read, { name: "bob asks", setup: true, expect: ["4xx"], as: "bob" }),
      on(resource, read, {
        name: "bob asks for nothing",
        status_as: "bob asks",
        path: pathOn(resource, read, unknown),
        as: "bob",
      }),
    ],
  })];
}

/** An id that nobody has; null where the documented rules exclude every known one. */
function unknownId(resource: Resource, read: Operation): string | null {
  const schema = read.parameters.find(({ name }) => name === resource.parameter)?.schema ?? {};
  const ids = ["2147483646", "no-such-thing", "ffffffff-ffff-4fff-8fff-ffffffffffff"];
  const allowed = ids.find((id) => !isRuledOut(schema, id));
  return allowed ?? (refusalsOf(read, schema, ids[0]!).length > 0 ? null : ids[0]!);
}

/** An ordinary user calls an operation below `/admin`. */
export function adminOnly(operation: Operation): Draft[] {
  if (operation.security.length === 0 || !/\/admin(\/|$)/i.test(operation.path)) return [];
  return [tell(operation, {
    family: "admin_only",
    title: `Calling ${nameOf(operation)} as an ordinary user`,
    who: "Bob has found an address of the administrators in the page's script.",
    preconditions: ["A user, bob, who is no administrator (--as bob=…)"],
    steps: [`Bob sends ${nameOf(operation)}`],
    chaos: ["The page hides the button, and nothing else guards it"],
    expected: "Bob is refused.",
    failures: ["Whoever is logged in can do what administrators can"],
    priority: "critical",
  }, {
    identities: ["bob"],
    steps: [{ ...sampleRequest(operation), name: "bob tries", as: "bob", denied: true }],
  })];
}

/** A list shows a record that its reader may not read. */
export function foreignList(resource: Resource): Draft[] {
  const { read, list } = resource;
  if (!list || !read || read.security.length === 0) return [];
  return [tell(list, {
    family: "foreign_list",
    title: `Finding somebody else's record in ${nameOf(list)}`,
    who: "Bob opens his own list and sees a record of Alice in it.",
    preconditions: TWO_USERS,
    steps: ["Alice makes a record", "Bob may not read it", `Bob sends ${nameOf(list)}`],
    chaos: ["The list is filtered by something else than the record is guarded by"],
    expected: "The list shows Bob only what Bob may read.",
    failures: ["The list leaks what the record itself protects"],
    priority: "critical",
  }, {
    identities: ["alice", "bob"],
    steps: [
      ...made(resource, { as: "alice" }),
      on(resource, read, {
        name: "bob may not read it",
        setup: true,
        expect: [403, 404],
        as: "bob",
      }),
      on(resource, list, {
        name: "bob lists",
        expect: ["2xx", "4xx"],
        hides: "{{id}}",
        path: longestList(list, pathOn(resource, list)),
        as: "bob",
      }),
    ],
  })];
}

/** Another user asks for what the rehearsal has shown to be the first user's own. */
export function foreignValue(operation: Operation, identities: readonly string[]): Draft[] {
  const { learned, security, method } = operation;
  const owner = learned?.as;
  const other = identities.find((name) => name !== owner);
  if (!learned?.owned || !owner || other === undefined || method === "DELETE") return [];
  const as = security.length === 0 ? "nobody" : other;
  const request = sampleRequest(operation);
  const control = { ...request, name: `${owner} does it`, control: true, as: owner };
  const tries = { ...request, name: `${as} tries`, denied: true, as };
  return [tell(operation, {
    family: "foreign_value",
    title: `Using what belongs to ${owner} through ${nameOf(operation)}`,
    who: `${
      as === "nobody" ? "Somebody without a login" : "Bob"
    } puts another value in the address.`,
    preconditions: [`The value in the path belongs to ${owner}`],
    steps: [`${owner} sends ${nameOf(operation)}`, `${as} sends the same`],
    chaos: ["The value can be guessed or is shown elsewhere"],
    expected: "Only its owner is served.",
    failures: ["Everybody reads or changes what belongs to somebody else"],
    priority: "critical",
  }, {
    identities: [...new Set([owner, other])],
    steps: method === "GET" ? [control, tries] : [tries, control],
  })];
}
