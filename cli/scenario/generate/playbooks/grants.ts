import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { tell, uniqueFields } from "./resource.ts";

/** Fields that nobody sets for themselves, by the names that services use. */
const PRIVILEGES: [string, string | number | boolean][] = [
  ["admin", true],
  ["is_admin", true],
  ["isAdmin", true],
  ["role", "admin"],
  ["balance", 1_000_000],
  ["credit", 1_000_000],
  ["verified", true],
];
/** The most lists that are searched for the records. */
const LISTS = 6;

/** Makes records with one privilege each, and looks for them in every list. */
export function grantedOnCreate(operation: Operation, operations: Operation[]): Draft[] {
  const [name] = uniqueFields(operation);
  if (/(log-?in|sign-?in|token|auth|password|reset)/i.test(operation.path)) return [];
  if (operation.method !== "POST" || operation.path.includes("{") || !isJson(operation)) return [];
  if (name === undefined) return [];
  const own = new Set(bodyFields(operation).map(([field]) => field));
  const added = PRIVILEGES.filter(([member]) => !own.has(member));
  const lists = operations.filter((one) =>
    one.method === "GET" && one.learned && !one.path.includes("{") && !one.learned.changes
  ).slice(0, LISTS);
  const request = sampleRequest(operation);
  const make = (n: number, more: object, words: string): PlaybookStep => {
    const unique = uniqueFields(operation).map((field) => [
      field,
      /mail/i.test(field) ? `g{{uniq}}${n}@example.com` : `g{{uniq}}${n}`,
    ]);
    const body = { ...objectSample(operation), ...Object.fromEntries(unique), ...more };
    return { ...request, name: words, body: JSON.stringify(body), ...asOf(operation) };
  };
  const isMail = /mail/i.test(name);
  const nameOfRecord = (n: number) => `g{{uniq}}${n}${isMail ? "@example.com" : ""}`;
  const grants = {
    plain: nameOfRecord(0),
    more: added.map(([member, value], n) => ({ name: nameOfRecord(n + 1), member, value })),
  };
  return [tell(operation, {
    family: "granted_on_create",
    title: `Giving oneself a role while signing up with ${nameOf(operation)}`,
    who: "A user signs up with one field more than the form offers.",
    steps: [
      "Make a record as usual",
      `Make others with ${added.map(([member]) => member).join(", ")}`,
      "Look for them in their answers and in every list",
    ],
    chaos: ["The service binds every field that it is sent"],
    expected: "Fields that are not the user's to set are refused or ignored.",
    failures: ["The new user has rights or money that nobody gave"],
    priority: "critical",
  }, {
    steps: [
      { ...make(0, {}, "make one"), setup: true, expect: ["2xx"] },
      ...added.map(([member, value], n) => ({
        ...make(n + 1, { [member]: value }, `make one with ${member}`),
        granted: { unlike: "make one", member, value },
      })),
      ...lists.map((one) => ({
        ...sampleRequest(one),
        name: `look into ${nameOf(one)}`,
        grants,
        ...asOf(one),
      })),
    ],
  })];
}

function asOf({ learned }: Operation): { as?: string } {
  return learned?.as ? { as: learned.as } : {};
}
