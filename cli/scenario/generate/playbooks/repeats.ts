import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";
import { keyOf } from "./keys.ts";
import {
  freshBody,
  freshRequest,
  made,
  makes,
  on,
  type Resource,
  tell,
  uniqueFields,
} from "./resource.ts";

/** Makes the same record twice, where the document names a conflict (409). */
export function sameTwice(operation: Operation): Draft[] {
  const { method, path, statuses } = operation;
  const [field] = uniqueFields(operation);
  if (method !== "POST" || path.includes("{") || !field || keyOf(operation)) return [];
  if (!statuses.includes(409)) return [];
  const request = freshRequest(operation);
  return [tell(operation, {
    family: "same_twice",
    title: `Making the same record twice with ${nameOf(operation)}`,
    who: "A user goes back in the browser and sends the form again.",
    steps: [`Make a record with a "${field}" nobody has`, "Send the same request again"],
    chaos: ["The form is still filled in, and the first request has succeeded"],
    expected: `The second request is told that this "${field}" is taken.`,
    failures: ["Two records share what must be unique", "The database's error becomes a 500"],
    priority: "critical",
  }, {
    steps: [
      { ...request, name: "make it", setup: true, expect: ["2xx"] },
      { ...request, name: "make it again", expect: [409, 400, 422] },
    ],
  })];
}

/** Sends a PUT twice, which must have the effect of one. */
export function putTwice(resource: Resource): Draft[] {
  const { read, update } = resource;
  if (!read || update?.method !== "PUT" || hasCondition(update)) return [];
  return [tell(update, {
    family: "put_twice",
    title: `Sending ${nameOf(update)} twice`,
    who: "A proxy repeats a PUT because it may, by the rules of HTTP.",
    preconditions: makes(resource),
    steps: ["Make a record and replace it", "Read it", "Replace it in the same way", "Read it"],
    chaos: ["The network is slow and the proxy impatient"],
    expected: "After the second PUT the record is what it was after the first.",
    failures: ["Something is counted or appended twice"],
    priority: "medium",
  }, {
    steps: [
      ...made(resource),
      on(resource, update, { name: "replace it", setup: true, expect: ["2xx"] }),
      on(resource, read, { name: "read it", setup: true, expect: ["2xx"] }),
      on(resource, update, { name: "replace it again", expect: ["2xx"] }),
      on(resource, read, { name: "read it again", same_as: "read it" }),
    ],
  })];
}

/** Sends an action that may happen once to a fresh record, ten times at once. */
export function doubleAction(resource: Resource): Draft[] {
  return resource.actions.filter((action) => isOnce(action) && !keyOf(action)).map((action) =>
    tell(action, {
      family: "double_action",
      title: `Sending ${nameOf(action)} ten times to a fresh record`,
      who: "A user presses the button again because nothing seems to happen.",
      preconditions: makes(resource),
      steps: ["Make a record", `Send ten identical ${nameOf(action)} within a millisecond`],
      chaos: ["All ten pass the check before the first has stored its result"],
      expected: "One request succeeds; the others are told that it has been done.",
      failures: ["It is done, paid or counted more than once"],
      priority: "critical",
    }, { steps: volleys(resource, action) })
  );
}

/** Three volleys on three records, because one volley may miss a short window. */
function volleys(resource: Resource, action: Operation): PlaybookStep[] {
  return ["", " again", " at last"].flatMap((words, n) => [
    ...made(resource).map((step): PlaybookStep =>
      n === 0 ? step : { ...step, body: freshBody(step.body, n), optional: true }
    ),
    on(resource, action, { name: `ten at once${words}`, race: 10 }),
  ]);
}

/** Path words for actions that happen once to a record. */
const ONCE =
  /\/(pay|charge|capture|refund|redeem|claim|transfer|withdraw|approve|reject|checkout|purchase|book|reserve|accept|decline|confirm|activate|cancel|publish|close|finish|complete|submit|ship|use)$/i;

function isOnce({ path, statuses }: Operation): boolean {
  return statuses.includes(409) || ONCE.test(path);
}

/** True for a conditional update, which is not a plain PUT. */
function hasCondition({ parameters }: Operation): boolean {
  return parameters.some(({ name }) => /^if-match$/i.test(name));
}
