import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf, refusalsOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { isFreeText, isRuledOut } from "../sample.ts";
import { longestList } from "./lists.ts";
import {
  freshRequest,
  idOfParent,
  made,
  on,
  type Parent,
  pathOn,
  type Resource,
  tell,
} from "./resource.ts";

const TWO_USERS = ["Two users, alice and bob, who share nothing (--as alice=… --as bob=…)"];

/** The two logins of a playbook. */
export interface Users {
  alice: string;
  bob: string;
}

/** The first two logins of a run stand for Alice and Bob, unless two have these names. */
export function usersOf(identities: readonly string[]): Users {
  const isNamed = identities.includes("alice") && identities.includes("bob");
  const [alice = "alice", bob = "bob"] = isNamed || identities.length < 2 ? [] : identities;
  return { alice, bob };
}

/** Parts of an address that name what belongs to one user. */
const PRIVATE =
  /(^|[/_-])(orders?|invoices?|payments?|accounts?|wallets?|carts?|baskets?|transfers?|transactions?|messages?|notes?|mails?|inbox|addresses|profiles?|bookings?|reservations?|subscriptions?|prescriptions?|patients?|payslips?|statements?|secrets?|credentials?|loans?|drafts?|purchases?|vehicles?|(virtual|credit|debit|bank|gift|payment)[_-]?cards?)(?=[/_-]|$)/i;

/** Another user reads, changes, deletes or acts on the record of the first. */
export function foreignRecord(
  resource: Resource,
  { alice, bob: second }: Users,
  operations: Operation[],
): Draft[] {
  const { create, read, update, remove, actions } = resource;
  if (!read) return foreignDeletion(resource, { alice, bob: second });
  const isOpen = read.security.length === 0;
  // Where a document names logins for other operations only, nobody may change what a login made.
  const isMixed = create.learned?.as === alice &&
    operations.some(({ security }) => security.length > 0);
  if (isOpen && !isMixed) return [];
  const bob = isOpen ? "nobody" : second;
  const all = [read, update, remove, ...actions].filter((one) => one !== null);
  const touched = isOpen ? all.filter((one) => one === update || one === remove) : all;
  return touched.map((operation) => {
    // A name that somebody has already is refused for that.
    const fresh = operation === update ? { body: freshRequest(update).body } : {};
    return tell(operation, {
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
      identities: isOpen ? [alice] : [alice, bob],
      steps: [
        ...made(resource, { as: alice }),
        on(resource, read, { name: "alice reads it", setup: true, expect: ["2xx"], as: alice }),
        ...bobLooks(resource, operation, bob),
        on(resource, operation, {
          name: "bob tries",
          denied: true,
          ...fresh,
          ...guardOf(resource, operation),
          as: bob,
        }),
        // Only a request that works for Alice shows that Bob was refused for who he is.
        ...(operation === read ? [] : [on(resource, operation, {
          name: "alice does it",
          ...fresh,
          control: true,
          as: alice,
        })]),
      ],
    });
  });
}

/** Another user deletes a record that only a list shows. */
function foreignDeletion(resource: Resource, { alice, bob }: Users): Draft[] {
  const { list, remove } = resource;
  if (!list || !remove || list.security.length === 0) return [];
  const look = (name: string, more: Partial<PlaybookStep>) =>
    on(resource, list, {
      name,
      keeps: "{{id}}",
      expect: ["2xx"],
      path: longestList(list, pathOn(resource, list)),
      as: alice,
      ...more,
    });
  return [tell(remove, {
    family: "foreign_record",
    title: `Deleting somebody else's record through ${nameOf(remove)}`,
    who: "Bob sends a deletion with a number that is not his.",
    preconditions: TWO_USERS,
    steps: [
      "Alice makes a record",
      `Bob sends ${nameOf(remove)} with its id`,
      `Alice looks for it with ${nameOf(list)}`,
    ],
    chaos: ["Ids can be guessed or are shown elsewhere"],
    expected: "Bob is refused, and the record of Alice is still there.",
    failures: ["Bob deletes what belongs to Alice"],
    priority: "critical",
  }, {
    identities: [alice, bob],
    steps: [
      // A second record with the same texts may be refused for that.
      ...made({ ...resource, create: withNewTexts(resource.create) }, { as: alice }),
      look("alice lists it", { setup: true }),
      on(resource, remove, { name: "bob deletes it", probe: true, as: bob }),
      look("alice lists it again", {}),
      // Only a deletion that works for Alice shows that Bob was refused for who he is.
      on(resource, remove, { name: "alice deletes it", control: true, as: alice }),
    ],
  })];
}

const LISTS = "bob lists";
const READS = "bob reads it";
const PARENT = "bob reads what it belongs to";

/** The requests by which Bob finds out whether the record is meant for everybody. */
function bobLooks(resource: Resource, operation: Operation, bob: string): PlaybookStep[] {
  const { read, list, parent, actions } = resource;
  const isAction = actions.includes(operation);
  if (operation !== read && !isAction) return [];
  return [
    ...(list ? [on(resource, list, { name: LISTS, probe: true, as: bob })] : []),
    ...(parent?.read ? [aboveOf(parent.read, parent, bob)] : []),
    ...(isAction ? [on(resource, read!, { name: READS, probe: true, as: bob })] : []),
  ];
}

function aboveOf(read: Operation, parent: Parent, bob: string): PlaybookStep {
  const { path, headers, method } = sampleRequest(read, { [parent.parameter]: idOfParent(parent) });
  return { method, path, headers, name: PARENT, probe: true, as: bob };
}

/** A change is never for everybody; a reading or an action such as a vote may be. */
function guardOf(
  { read, list, parent, actions }: Resource,
  operation: Operation,
): Pick<PlaybookStep, "guarded"> {
  const isAction = actions.includes(operation);
  if (operation !== read && !isAction) return {};
  return {
    guarded: {
      by_address: PRIVATE.test(operation.path),
      ...(list ? { list: LISTS } : {}),
      ...(parent?.read ? { parent: PARENT } : {}),
      ...(isAction ? { record: READS } : {}),
    },
  };
}

/** Different refusals (403, 404) tell a user which records of others exist. */
export function existenceLeak(resource: Resource, { alice, bob }: Users): Draft[] {
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
    identities: [alice, bob],
    steps: [
      ...made(resource, { as: alice }),
      on(resource, read, { name: "bob asks", setup: true, expect: ["4xx"], as: bob }),
      on(resource, read, {
        name: "bob asks for nothing",
        status_as: "bob asks",
        path: pathOn(resource, read, unknown),
        as: bob,
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
export function adminOnly(operation: Operation, { bob }: Users): Draft[] {
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
    identities: [bob],
    steps: [{ ...sampleRequest(operation), name: "bob tries", as: bob, denied: true }],
  })];
}

/** A list shows a record that its reader may not read. */
export function foreignList(resource: Resource, { alice, bob }: Users): Draft[] {
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
    identities: [alice, bob],
    steps: [
      ...made(resource, { as: alice }),
      on(resource, read, {
        name: "bob may not read it",
        setup: true,
        expect: [403, 404],
        as: bob,
      }),
      on(resource, list, {
        name: "bob lists",
        expect: ["2xx", "4xx"],
        hides: "{{id}}",
        path: longestList(list, pathOn(resource, list)),
        as: bob,
      }),
    ],
  })];
}

/**
 * Another user asks for what the rehearsal has shown to be the first user's own, or changes what
 * the address says belongs to the first.
 */
export function foreignValue(
  operation: Operation,
  identities: readonly string[],
  operations: Operation[],
): Draft[] {
  const { learned, security, method } = operation;
  const owner = learned?.as;
  const other = identities.find((name) => name !== owner);
  if (!learned || !owner || other === undefined || method === "DELETE") return [];
  // Where nobody logs in, nothing belongs to anybody.
  if (operation.is_public) return [];
  if (method !== "GET" && learned.own_name) {
    return foreignName(operation, { owner, other }, operations);
  }
  if (!learned.owned) return [];
  const as = security.length === 0 ? "nobody" : other;
  // A unique value must be new, or the change is refused for that.
  const request = method === "GET" ? sampleRequest(operation) : freshRequest(operation);
  const control = { ...request, name: `${owner} does it`, control: true, as: owner };
  // A number does not tell whose record it names: many are meant for everybody.
  const isNumber = operation.parameters.some((one) =>
    one.in === "path" && /^\d{1,5}$/.test(String(one.sample))
  );
  const isPrivate = PRIVATE.test(operation.path);
  const list = isPrivate ? undefined : listOf(operation, operations);
  const guarded = {
    by_address: !isNumber || isPrivate,
    ...(list ? { open_list: OPEN_LIST } : {}),
  };
  const tries = { ...request, name: `${as} tries`, denied: true, guarded, as };
  return [tellValue(operation, { owner, other, as }, [
    ...(list
      ? [{ ...sampleRequest(list), name: OPEN_LIST, probe: true, as: "nobody" } as const]
      : []),
    ...(method === "GET" ? [control, tries] : [tries, control]),
  ])];
}

const OPEN_LIST = "nobody lists";

/** The reading of the list that holds the record which this operation reads. */
function listOf({ method, path }: Operation, operations: Operation[]): Operation | undefined {
  const above = /^(.+)\/\{[^{}]+\}$/.exec(path)?.[1];
  if (method !== "GET" || above === undefined) return undefined;
  return operations.find((one) => one.method === "GET" && one.path === above);
}

/** Another user changes what the address of the first user's name or number leads to. */
function foreignName(
  operation: Operation,
  { owner, other }: { owner: string; other: string },
  operations: Operation[],
): Draft[] {
  const { learned, method, path } = operation;
  const own = learned?.own_name;
  if (!own || !["PUT", "PATCH", "POST"].includes(method)) return [];
  // A change to what the record holds already would show no effect.
  const request = sampleRequest(withNewTexts(operation), named(own));
  const as = operation.security.length === 0 ? "nobody" : other;
  const tries = { ...request, name: `${as} tries`, as, probe: true };
  const above = path.slice(0, path.indexOf(`{${own.name}}`) + own.name.length + 2);
  // An item below a record shows in the record's list; a record below that item shows in no list above.
  const isBelow = path.slice(above.length).includes("{");
  const shows = method === "POST" ? path : isBelow ? null : above;
  const read = operations.find((one) => one.method === "GET" && one.path === shows);
  const reading = (name: string): PlaybookStep => ({
    ...sampleRequest(read!, named(own)),
    name,
    probe: true,
    as: owner,
  });
  const [before, after] = [`${owner} reads it`, `${owner} reads it again`];
  const unknown = /^\d+$/.test(own.value)
    ? "2147483646"
    : UUID.test(own.value)
    ? "ffffffff-ffff-4fff-8fff-ffffffffffff"
    : "no-such-name";
  const nobody = { ...own, value: unknown };
  const members = bodyFields(operation).map(([name]) => name);
  return [tellValue(operation, { owner, other, as }, [
    ...(read ? [reading(before)] : []),
    tries,
    ...(read ? [reading(after)] : []),
    // A service that takes the user from the login ignores the address, which harms nobody.
    {
      ...sampleRequest(withNewTexts(operation), named(nobody)),
      name: `${as} tries a name that nobody has`,
      as,
      effect: { of: tries.name, ...(read ? { before, after } : {}), members },
    },
  ])];
}

/** Another user changes a record that the body, not the address, says belongs to the first user. */
export function foreignField(
  operation: Operation,
  identities: readonly string[],
  operations: Operation[],
): Draft[] {
  const { learned, method, path, security } = operation;
  const [owner, field] = [learned?.as, learned?.own_field];
  const other = identities.find((name) => name !== owner);
  if (!owner || !field || other === undefined || security.length === 0) return [];
  if (!["PUT", "PATCH"].includes(method) || path.includes("{") || !isJson(operation)) return [];
  const read = operations.find((one) => one.method === "GET" && one.path === path);
  if (!read) return [];
  const body = withNewTexts(operation).body!;
  const sample = { ...body.sample as object, [field.name]: field.value };
  const before = `${owner} reads it`;
  const tries = `${other} names ${owner}`;
  return [tell(operation, {
    family: "foreign_field",
    title: `Naming ${owner} as the ${field.name} in ${nameOf(operation)}`,
    who: "Bob puts another name into the form that changes his own record.",
    preconditions: TWO_USERS,
    steps: [`${owner} reads the record`, `${other} names ${owner}`, `${owner} reads it again`],
    chaos: ["The service looks the record up by the body and not by the login"],
    expected: `The record of ${owner} stays as it was.`,
    failures: ["Everybody changes what belongs to somebody else"],
    priority: "critical",
  }, {
    identities: [owner, other],
    steps: [
      { ...sampleRequest(read), name: before, setup: true, expect: ["2xx"], as: owner },
      {
        ...sampleRequest({ ...operation, body: { ...body, sample } }),
        name: tries,
        probe: true,
        as: other,
      },
      { ...sampleRequest(read), name: `${owner} reads it again`, same_as: before, as: owner },
    ],
  })];
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

function named({ name, value }: { name: string; value: string }) {
  return { [name]: encodeURIComponent(value) };
}

function withNewTexts(operation: Operation): Operation {
  const { body } = operation;
  if (!body || !isJson(operation)) return operation;
  const schemas = Object.fromEntries(bodyFields(operation));
  const fresh = Object.entries(objectSample(operation)).map(([name, value]) => {
    const schema = schemas[name] ?? {};
    const isShort = Number(schema.maxLength ?? Infinity) < 20;
    const isText = typeof value === "string" && isFreeText(schema) && !isShort;
    if (isText && /mail/i.test(name)) return [name, "u{{uniq}}@example.com"];
    return [name, isText && !/pass|pin|phone|date/i.test(name) ? "u{{uniq}}" : value];
  });
  return { ...operation, body: { ...body, sample: Object.fromEntries(fresh) } };
}

function tellValue(
  operation: Operation,
  { owner, other, as }: { owner: string; other: string; as: string },
  steps: PlaybookStep[],
): Draft {
  return tell(operation, {
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
  }, { identities: [...new Set([owner, other])], steps });
}
