import { isObject } from "../generate/references.ts";

/** A list longer than this is not compared item by item. */
const ITEMS = 1_000;
/** The members under which services put a page's records. */
const LISTS = ["items", "data", "results", "records", "content", "value", "hits", "entries"];

/** True where two answers say the same; moments in time may differ. */
export function saysTheSame(one: string, other: string): boolean {
  return one === other || withoutTimes(one) === withoutTimes(other);
}

/** The records of a page: the array that is the answer, or the one in it; null without any. */
export function recordsOf(body: string): unknown[] | null {
  const value = parse(body);
  if (Array.isArray(value)) return value.slice(0, ITEMS);
  if (!isObject(value)) return null;
  const named = LISTS.map((name) => value[name]).find(Array.isArray);
  const list = named ?? Object.values(value).find(Array.isArray);
  return list ? (list as unknown[]).slice(0, ITEMS) : null;
}

/** What tells one record from another: its id where it has one, else all of it. */
export function identityOf(record: unknown): string {
  const id = isObject(record) ? record.id ?? record._id ?? record.uuid : undefined;
  return JSON.stringify(id ?? record);
}

/** The first of these members that differs between two answers, wherever it stands in them. */
export function changedMember(
  before: string,
  after: string,
  members: readonly string[],
): string | null {
  const [one, other] = [parse(before), parse(after)];
  return members.find((name) =>
    JSON.stringify(find(one, name)) !== JSON.stringify(find(other, name))
  ) ?? null;
}

/** A member of the answer, or of the object that wraps the record. */
function find(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined;
  if (Object.hasOwn(value, name)) return value[name];
  const wrapped = Object.values(value).find((inner) =>
    isObject(inner) && Object.hasOwn(inner, name)
  );
  return isObject(wrapped) ? wrapped[name] : undefined;
}

function withoutTimes(body: string): string {
  return body.replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?/g, "T");
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
