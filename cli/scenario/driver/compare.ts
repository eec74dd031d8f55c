import { sameName } from "../generate/names.ts";
import { isObject } from "../json.ts";

/** At most this many items of a list are compared. */
const ITEMS = 1_000;
/** At most this many values of an answer are searched. */
const NODES = 20_000;
/** The members in which services return the records of a page. */
const LISTS = ["items", "data", "results", "records", "content", "value", "hits", "entries"];

/** True when two answers are equal except for times. */
export function saysTheSame(one: string, other: string): boolean {
  return one === other || withoutTimes(one) === withoutTimes(other);
}

/** The records of a page: the array that is the answer or is in it; null without one. */
export function recordsOf(body: string): unknown[] | null {
  const value = parse(body);
  if (Array.isArray(value)) return value.slice(0, ITEMS);
  if (!isObject(value)) return null;
  const named = LISTS.map((name) => value[name]).find(Array.isArray);
  const list = named ?? Object.values(value).find(Array.isArray);
  return list ? (list as unknown[]).slice(0, ITEMS) : null;
}

/** Members beside the list of a page. */
const BESIDE = /^(status|success|message|ok|count|total|page|pages|limit|offset|size|next|prev)/i;

/** True for a page without records: a list, or a list among counts and messages. */
export function isEmptyList(body: string): boolean {
  const value = parse(body);
  if (Array.isArray(value)) return value.length === 0;
  if (!isObject(value)) return false;
  const others = Object.entries(value).filter(([name]) => !BESIDE.test(name));
  return others.length === 1 && Array.isArray(others[0]![1]) && others[0]![1].length === 0;
}

/** The first text or number with this name in a JSON text, the outermost first; null without one. */
export function deepMember(text: string, name: string): string | null {
  return objectsIn(parse(text)).flatMap((one) =>
    Object.entries(one).filter(([key, value]) =>
      sameName(key, name) && ["string", "number"].includes(typeof value) && value !== ""
    ).map(([, value]) => String(value))
  )[0] ?? null;
}

/** Every object of a JSON text, the outermost first. */
export function objectsOf(text: string): Record<string, unknown>[] {
  return objectsIn(parse(text));
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  const waiting = [value];
  for (let n = 0; n < waiting.length && n < NODES; n++) {
    const one = waiting[n];
    if (isObject(one)) found.push(one);
    if (typeof one === "object" && one !== null) {
      waiting.push(...Object.values(one).slice(0, ITEMS));
    }
  }
  return found;
}

/** Identifies a record by its id, or by all of it without one. */
export function identityOf(record: unknown): string {
  const id = isObject(record) ? record.id ?? record._id ?? record.uuid : undefined;
  return JSON.stringify(id ?? record);
}

/** Members that a service shows only to their owner. */
const PRIVATE =
  /pass|secret|token|balance|card|iban|account|address|e-?mail|phone|amount|total|salary|payment|pin$/i;

/** True for a record with a member that a service shows only to its owner. */
export function hasPrivateMember(record: string): boolean {
  return objectsOf(record).some((one) => Object.keys(one).some((name) => PRIVATE.test(name)));
}

/** True when a list shows the whole record. */
export function isListed(record: string, list: string): boolean {
  const shown = parse(record);
  if (!isObject(shown)) return false;
  const whole = JSON.stringify(sorted(shown));
  return (recordsOf(list) ?? []).some((one) => JSON.stringify(sorted(one)) === whole);
}

function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}

/** The first of these members that differs between two answers. */
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

/** A member of the answer, or of an object inside it. */
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
