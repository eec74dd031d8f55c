import type { Playbook, PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, draft, nameOf, type Story } from "../family.ts";
import { collectionOf } from "../names.ts";
import {
  bodyFields,
  endsLogin,
  isJson,
  objectSample,
  type Operation,
  sampleRequest,
} from "../operation.ts";

/** A collection that makes records, and the operations on one of them. */
export interface Resource {
  create: Operation;
  list: Operation | null;
  read: Operation | null;
  update: Operation | null;
  remove: Operation | null;
  /** Operations such as `POST /things/{id}/pay`. */
  actions: Operation[];
  /** The path parameter for the record's id. */
  parameter: string;
  parent: Parent | null;
}

/** The record that others belong to, with the path parameter for its id. */
export interface Parent {
  parameter: string;
  /** Makes one; null where it is the login's own user. */
  create: Operation | null;
  read: Operation | null;
  /** The id of the login's own user. */
  own?: string;
}

/** The parts of a resource that a path depends on. */
export type Place = Pick<Resource, "parameter" | "parent">;

/** Finds resources: `POST /things` makes the records of `/things/{id}`. */
export function resourcesOf(operations: Operation[]): Resource[] {
  const posts = operations.filter(({ method }) => method === "POST");
  const roots = posts.filter(({ path }) => !path.includes("{"));
  return [
    ...roots.flatMap((create) => resourceOf(create, null, operations)),
    ...posts.flatMap((create) => {
      // One level of nesting: `/things/{id}/parts` belongs to `/things`.
      const [, base, parameter = ""] = /^([^{}]+)\/\{([^{}]+)\}\/[^{}]+$/.exec(create.path) ?? [];
      const read = operations.find(({ path, method }) =>
        method === "GET" && path === `${base}/{${parameter}}`
      ) ?? null;
      const own = create.learned?.own_name;
      if (own?.name === parameter) {
        return resourceOf(create, { create: null, parameter, read, own: own.value }, operations);
      }
      const maker = roots.find(({ path }) =>
        baseOf(path) === base
      );
      return maker ? resourceOf(create, { create: maker, parameter, read }, operations) : [];
    }),
  ];
}

function resourceOf(
  create: Operation,
  parent: Resource["parent"],
  operations: Operation[],
): Resource[] {
  const base = baseOf(create.path);
  if (base === "" || endsLogin(create)) return [];
  const below = operations.filter(({ path }) => path.startsWith(`${base}/{`));
  const parameter = /^\{([^{}]+)\}/.exec(below[0]?.path.slice(base.length + 1) ?? "")?.[1];
  if (parameter === undefined) return [];
  const item = `${base}/{${parameter}}`;
  const find = (...methods: string[]) =>
    below.find(({ path, method }) => path === item && methods.includes(method)) ?? null;
  return [{
    create,
    parent,
    parameter,
    list: operations.find(({ path, method }) => path === base && method === "GET") ?? null,
    read: find("GET"),
    update: find("PUT", "PATCH"),
    remove: find("DELETE"),
    actions: below.filter(({ path, method }) =>
      method === "POST" && path.startsWith(`${item}/`) && !path.slice(item.length).includes("{")
    ),
  }];
}

/** `/things` for `/things`, `/things/` and `/things/create`. */
function baseOf(path: string): string {
  return path.includes("{") ? path.replace(/\/$/, "") : collectionOf(path);
}

/** Fields that services often keep unique. */
const UNIQUE =
  /^(e?_?mail|email_?address|user_?name|login|handle|slug|code|sku|isbn|phone|nick_?name)$/i;

/** The fields of a body that a service probably keeps unique. */
export function uniqueFields(operation: Operation): string[] {
  return bodyFields(operation)
    .filter(([name, schema]) =>
      UNIQUE.test(name) && !schema.enum && name in objectSample(operation)
    )
    .map(([name]) => name);
}

/** The sample request with new values for its unique fields. */
export function freshRequest(operation: Operation) {
  const request = sampleRequest(operation);
  const fields = isJson(operation) ? uniqueFields(operation) : [];
  if (fields.length === 0) return request;
  const values = fields.map((name) => [
    name,
    /mail/i.test(name) ? "u{{uniq}}@example.com" : "u{{uniq}}",
  ]);
  const body = { ...objectSample(operation), ...Object.fromEntries(values) };
  return { ...request, body: JSON.stringify(body) };
}

/** A body with unique values for the n-th record of one playbook. */
export function freshBody(body: string | undefined, n: number): string | undefined {
  return body?.replaceAll("{{uniq}}", `{{uniq}}${n}`);
}

/** The places of a new record's id in the answer. */
const ID = "body:/id|body:/data/id|body:/uuid|body:/_id|header:Location";

/** Where a new record's id is: the field named like the parameter, an id however deep, what was sent. */
function idFor(parameter: string): string {
  const named = /^_?(id|uuid)$/i.test(parameter) ? "" : `find:${parameter}|`;
  return `${named}${ID}|find:id|find:_id|find:uuid|sent:${parameter}`;
}

/** The steps that make a record, and its parent if it has one, and save the ids. */
export function made(resource: Resource, { as }: { as?: string } = {}): PlaybookStep[] {
  const { create, parent } = resource;
  const how = { setup: true, expect: ["2xx" as const], ...(as === undefined ? {} : { as }) };
  // A registration may refuse a user who is logged in.
  if (as === undefined && create.learned?.as === "nobody") Object.assign(how, { as: "nobody" });
  const it = {
    name: "make it",
    ...freshRequest(create),
    path: pathOn(resource, create),
    ...how,
    save: { id: idFor(resource.parameter) },
  };
  if (!parent?.create) return [it];
  const name = "make what it belongs to";
  return [{
    name,
    ...freshRequest(parent.create),
    ...how,
    save: { parent: idFor(parent.parameter) },
  }, it];
}

/** A step on the record that was made. */
export function on(
  place: Place,
  operation: Operation,
  step: Pick<PlaybookStep, "name"> & Partial<PlaybookStep>,
): PlaybookStep {
  return { ...sampleRequest(operation), path: pathOn(place, operation), ...step };
}

/** An operation's path with the saved ids, or with `id`, and samples for the rest. */
export function pathOn({ parameter, parent }: Place, operation: Operation, id = "{{id}}"): string {
  return sampleRequest(operation, {
    [parameter]: id,
    ...(parent ? { [parent.parameter]: idOfParent(parent) } : {}),
  }).path;
}

/** The id of the parent, as a path has it. */
export function idOfParent({ own }: Parent): string {
  return own === undefined ? "{{parent}}" : encodeURIComponent(own);
}

/** The draft of one story of several requests. */
export function tell(
  operation: Operation,
  { family, ...story }: Story & { family: string },
  playbook: Playbook,
): Draft {
  const { exec: _exec, ...rest } = draft(operation, family, story);
  return { ...rest, playbook };
}

/** The precondition for a test of a record. */
export function makes({ create }: Pick<Resource, "create">): string[] {
  return [`${nameOf(create)} makes a record`];
}
