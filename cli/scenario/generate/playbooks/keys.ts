import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation } from "../operation.ts";
import { isFreeText } from "../sample.ts";
import { freshBody, freshRequest, tell } from "./resource.ts";

/** The header for an operation's idempotency key; null without one. */
export function keyOf({ parameters }: Operation): string | null {
  return parameters.find((one) => one.in === "header" && /idempotency/i.test(one.name))?.name ??
    null;
}

/** One idempotency key for two equal requests, which must get equal answers. */
export function sameKeyTwice(operation: Operation): Draft[] {
  const key = keyOf(operation);
  if (!key || operation.method !== "POST" || operation.path.includes("{")) return [];
  const request = freshRequest(operation);
  const headers = { ...request.headers, [key]: "key-{{uniq}}" };
  return [tell(operation, {
    family: "same_key_twice",
    title: `Repeating ${nameOf(operation)} with one idempotency key`,
    who: "A phone repeats its request because the first answer was lost.",
    steps: ["Send the request with a key", "Send it again with the same key"],
    chaos: ["The first request was done, only its answer was lost"],
    expected: "The second answer is the first one again, and nothing is made twice.",
    failures: ["A second record is made", "The repetition crashes"],
    priority: "critical",
  }, {
    steps: [
      { ...request, headers, name: "send it", setup: true, expect: ["2xx"] },
      { ...request, headers, name: "send it again", expect: ["2xx", 409], same_as: "send it" },
    ],
  })];
}

/**
 * One idempotency key for two different requests. Some services answer the second like the first on
 * purpose, so this is told only where 409 or 422 is documented.
 */
export function sameKeyForTwo(operation: Operation): Draft[] {
  const key = keyOf(operation);
  const other = key && isPlainPost(operation) ? changedBody(operation) : null;
  const isTold = operation.statuses.some((status) => status === 409 || status === 422);
  if (!key || other === null || !isTold) return [];
  const request = freshRequest(operation);
  const send = (name: string, value: string, more: Partial<PlaybookStep>): PlaybookStep => ({
    ...request,
    headers: { ...request.headers, [key]: value },
    name,
    ...more,
  });
  return [tell(operation, {
    family: "same_key_for_two",
    title: `Sending two different ${nameOf(operation)} with one idempotency key`,
    who: "A client makes its keys from the hour, and two of its requests get the same one.",
    steps: ["Send the request with a key", "Send a different one with the same key"],
    chaos: ["The service looks at the key and not at what it belongs to"],
    expected: "The second request is refused (422), or done: it is not answered like the first.",
    failures: ["The second request is answered as if it had been done, and is lost"],
    priority: "high",
  }, {
    steps: [
      send("send it", "key-{{uniq}}", { setup: true, expect: ["2xx"] }),
      // If different requests get equal answers, the comparison proves nothing.
      send("send another", "key-{{uniq}}-2", {
        body: other,
        setup: true,
        expect: ["2xx"],
        differs_from: "send it",
      }),
      send("send another with the first key", "key-{{uniq}}", {
        body: other,
        differs_from: "send it",
      }),
    ],
  })];
}

/** One idempotency key ten times at once. Only one request may take effect. */
export function sameKeyAtOnce(operation: Operation): Draft[] {
  const key = keyOf(operation);
  if (!key || !isPlainPost(operation)) return [];
  const request = freshRequest(operation);
  const send = (name: string, n: number, more: Partial<PlaybookStep>): PlaybookStep => ({
    ...request,
    body: freshBody(request.body, n),
    headers: { ...request.headers, [key]: `key-{{uniq}}-${n}` },
    name,
    ...more,
  });
  return [tell(operation, {
    family: "same_key_at_once",
    title: `Sending ${nameOf(operation)} ten times at once with one idempotency key`,
    who: "A client sends its request again before the first has been answered.",
    steps: ["Send the request with a key ten times within a millisecond"],
    chaos: ["All ten look the key up before the first has stored it"],
    expected: "It is done once: the others get the same answer, or are refused.",
    failures: ["It is done, paid or counted more than once"],
    priority: "critical",
  }, {
    steps: [
      // Answers that always differ cannot be compared.
      send("send it", 1, { setup: true, expect: ["2xx"] }),
      send("send it again", 1, { setup: true, expect: ["2xx"], same_as: "send it" }),
      ...[2, 3, 4].map((n) => send(`ten at once, key ${n}`, n, { race: 10, same_answer: true })),
    ],
  })];
}

function isPlainPost({ method, path }: Operation): boolean {
  return method === "POST" && !path.includes("{");
}

/** The sample body with one number or text changed within the documented rules. */
function changedBody(operation: Operation): string | null {
  if (!isJson(operation)) return null;
  const sample = objectSample(operation);
  for (const [name, schema] of bodyFields(operation)) {
    const value = sample[name];
    const room = (limit: unknown, size: number) => size < Number(limit ?? Infinity);
    if (typeof value === "number" && !schema.enum && room(schema.maximum, value)) {
      return JSON.stringify({ ...sample, [name]: value + 1 });
    }
    if (typeof value === "string" && isFreeText(schema) && room(schema.maxLength, value.length)) {
      return JSON.stringify({ ...sample, [name]: `${value}x` });
    }
  }
  return null;
}
