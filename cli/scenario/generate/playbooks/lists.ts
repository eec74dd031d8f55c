import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { fillPath, type Operation, type Parameter, sampleRequest } from "../operation.ts";
import { freshRequest, tell } from "./resource.ts";

const LIMIT = /^(limit|per_?page|page_?size|size|count|max_?results|top|_limit|\$top)$/i;
const OFFSET = /^(offset|skip|start|from|_start|\$skip)$/i;
const PAGE = /^(page|page_?number|page_?no|_page)$/i;
const CURSOR = /^(cursor|after|page_?token|next_?token|starting_after)$/i;
const NEXT = "body:/next_cursor|body:/nextCursor|body:/next_page_token|body:/nextPageToken|" +
  "body:/cursor|body:/next|body:/meta/next_cursor|body:/paging/next";

/** Compares two short pages with one long page. */
export function pagination(operation: Operation, operations: Operation[]): Draft[] {
  const sizes = sizesOf(operation);
  const second = sizes && secondPage(operation, sizes.half);
  if (operation.method !== "GET" || operation.path.includes("{") || !second) return [];
  return [tell(operation, {
    family: "pagination",
    title: `Turning the pages of ${nameOf(operation)}`,
    who: "A user turns the page while comparing it with a longer one.",
    preconditions: [`There are at least ${2 * sizes.half} records, and nobody changes them`],
    steps: [
      `Read the first ${2 * sizes.half} records as one page`,
      `Read them again as two pages of ${sizes.half}`,
    ],
    chaos: ["The end of one page and the beginning of the next are counted differently"],
    expected: "Two short pages show what one long page shows, each record once.",
    failures: ["A record is shown on two pages", "A record is on no page at all"],
    priority: "high",
  }, { steps: [...twoRecords(operation, operations), ...pages(operation, sizes, second)] })];
}

/** The page size for finding a record in a list. */
const LOOKED_AT = 100;

/** The path with the largest page size, because a new record may be beyond the first page. */
export function longestList(operation: Operation, path: string): string {
  const limit = queryNamed(operation, LIMIT);
  if (!limit || limit.required) return path;
  const most = Math.min(LOOKED_AT, Number(limit.schema.maximum ?? LOOKED_AT));
  return `${path}${path.includes("?") ? "&" : "?"}${limit.name}=${most}`;
}

interface Sizes {
  limit: string;
  half: number;
}

interface Second {
  query: [string, string];
  save?: Record<string, string>;
}

function pages(operation: Operation, { limit, half }: Sizes, second: Second): PlaybookStep[] {
  const page = (name: string, size: number, ...more: [string, string][]) => ({
    ...sampleRequest(operation),
    path: withQuery(operation, [[limit, String(size)], ...more]),
    name,
    setup: true,
    expect: ["2xx" as const],
  });
  return [
    { ...page("both", 2 * half), records: 2 * half },
    { ...page("the first", half), save: second.save },
    page("the second", half, second.query),
    // A list that changes meanwhile cannot be compared.
    { ...page("both again", 2 * half), same_as: "both" },
    { ...page("both at last", 2 * half), setup: false, joins: ["the first", "the second"] },
  ];
}

/** Makes two records if possible, so that there are two pages. */
function twoRecords({ path }: Operation, operations: Operation[]): PlaybookStep[] {
  const create = operations.find((one) => one.method === "POST" && one.path === path);
  if (!create) return [];
  const one = freshRequest(create);
  return [{ ...one, name: "make one" }, { ...one, name: "make another" }];
}

function sizesOf(operation: Operation): Sizes | null {
  const limit = queryNamed(operation, LIMIT);
  if (!limit) return null;
  const half = Math.max(1, Number(limit.schema.minimum) || 1);
  const most = Number(limit.schema.maximum ?? Infinity);
  return 2 * half <= most ? { limit: limit.name, half } : null;
}

function secondPage(operation: Operation, half: number): Second | null {
  const offset = queryNamed(operation, OFFSET);
  if (offset) return { query: [offset.name, String(half)] };
  const page = queryNamed(operation, PAGE);
  // The first page may be 0 or 1, so it must be documented.
  const first = page && (page.schema.default ?? page.schema.minimum);
  if (page && typeof first === "number") return { query: [page.name, String(first + 1)] };
  const cursor = queryNamed(operation, CURSOR);
  return cursor && { query: [cursor.name, "{{next}}"], save: { next: NEXT } };
}

function queryNamed({ parameters }: Operation, name: RegExp): Parameter | null {
  return parameters.find((one) => one.in === "query" && name.test(one.name)) ?? null;
}

function withQuery(operation: Operation, pairs: [string, string][]): string {
  return `${fillPath(operation)}?${pairs.map(([name, value]) => `${name}=${value}`).join("&")}`;
}
