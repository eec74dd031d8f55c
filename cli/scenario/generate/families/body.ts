import { documented, type Family, nameOf, refuses, type Story } from "../family.ts";
import { encodeBody, isJson, objectSample, type Operation } from "../operation.ts";
import { typeOf } from "../sample.ts";

type BodyStory =
  & Pick<Story, "title" | "who" | "chaos" | "expected" | "failures" | "priority">
  & Pick<Story, "forbidden">
  & {
    body: string | null;
    headers?: Record<string, string | null>;
    step: string;
    /** The body breaks the documented rules, so a correct service refuses it. */
    refuse?: boolean;
    /** If the document names one of these statuses, a correct service refuses the body. */
    refused_with?: number[];
  };

/** Bodies that are broken, empty, of the wrong type, too deep or too large. */
export const BODY: Family[] = [
  family("body_malformed", "light", (operation) => ({
    title: `Sending half a JSON document to ${nameOf(operation)}`,
    who: "A phone loses its connection while the app is saving.",
    step: "Cut the body in the middle of a string",
    chaos: ["The connection breaks while the body is sent"],
    expected: "The request is refused as malformed, and nothing is changed.",
    failures: ["The parser's exception reaches the user", "Half of the data is stored"],
    priority: "medium",
    body: cut(sampleText(operation)),
    refuse: true,
  })),
  family("body_empty", "light", (operation) =>
    operation.body!.required
      ? {
        title: `Sending nothing to ${nameOf(operation)}`,
        who: "A form is submitted before its script has loaded.",
        step: "Send the request with an empty body",
        chaos: ["The body is empty, its content type is not"],
        expected: "The request is refused and says that the body is missing.",
        failures: ["The handler reads a field of nothing and crashes"],
        priority: "medium",
        body: "",
        refuse: true,
      }
      : null),
  ...["null", "[]", "42", '"text"'].map((value, index) =>
    family(
      `body_${["null", "array", "number", "string"][index]}`,
      index === 0 ? "normal" : "aggressive",
      (operation) =>
        typeOf(operation.body!.schema) === "object"
          ? {
            title: `Sending ${value} instead of an object to ${nameOf(operation)}`,
            who: "A script builds its request from a variable that was never set.",
            step: `Send ${value} as the body`,
            chaos: ["Valid JSON, but not what any handler expects"],
            expected: "The request is refused as invalid.",
            failures: ["Reading a property of it crashes the handler"],
            priority: "medium",
            body: value,
            refuse: true,
          }
          : null,
    )
  ),
  family("body_deep", "normal", (operation) => ({
    title: `Nesting 5,000 arrays in the body of ${nameOf(operation)}`,
    who: "Somebody looks for the depth at which the service falls over.",
    step: "Send a body of 5,000 nested arrays",
    chaos: ["A parser or a validator that recurses runs out of stack"],
    expected: "The request is refused, and the next request is served as before.",
    failures: ["The process crashes", "Every later request fails"],
    priority: "high",
    body: "[".repeat(5_000) + "]".repeat(5_000),
  })),
  family("body_large", "aggressive", (operation) => ({
    title: `Sending 60 KB in one field to ${nameOf(operation)}`,
    who: "A user pastes a whole book into one field.",
    step: "Send a body with one very long text",
    chaos: ["Far more data than any form needs"],
    expected: "The text is stored or refused; the service stays quick for others.",
    failures: ["A database column overflows", "The request is buffered without a limit"],
    priority: "medium",
    body: JSON.stringify({ ...objectSample(operation), padding: "x".repeat(60_000) }),
  })),
  family("body_content_type", "normal", (operation) => ({
    title: `Sending ${nameOf(operation)} with the wrong content type`,
    who: "A client library forgets to say that it sends JSON.",
    step: "Send the usual body as text/plain",
    chaos: ["The content type does not match the body"],
    expected: "The request is refused with 415, or the body is read all the same.",
    failures: ["The handler sees no body and crashes"],
    priority: "medium",
    body: sampleText(operation),
    headers: { "Content-Type": "text/plain" },
    refused_with: [415],
  })),
  family("body_charset", "aggressive", (operation) => ({
    title: `Sending ${nameOf(operation)} in a charset nobody knows`,
    who: "An old client names the charset of its own country.",
    step: "Send the usual body with charset=x-unknown",
    chaos: ["The charset cannot be decoded"],
    expected: "The request is refused with 415, or the charset is ignored.",
    failures: ["The decoder's exception becomes a 500"],
    priority: "low",
    body: sampleText(operation),
    headers: { "Content-Type": `${operation.body!.content_type}; charset=x-unknown` },
  })),
  family("field_extra", "normal", (operation) =>
    typeOf(operation.body!.schema) === "object"
      ? {
        title: `Giving oneself a role through ${nameOf(operation)}`,
        who: "A user adds fields to the request that no form offers.",
        step: "Send the usual body with role, is_admin, owner_id and balance added",
        chaos: ["The service may bind every field it is sent"],
        expected: "Fields that are not the user's to set are refused or ignored.",
        failures: ["The user becomes an administrator", "The user sets a balance"],
        priority: "high",
        body: JSON.stringify({
          ...objectSample(operation),
          role: "admin",
          is_admin: true,
          owner_id: 1,
          balance: 1_000_000,
        }),
      }
      : null),
];

function family(
  name: string,
  depth: Family["depth"],
  tell: (operation: Operation) => BodyStory | null,
): Family {
  return {
    name,
    depth,
    tell: (operation) => {
      const told = operation.body && isJson(operation) ? tell(operation) : null;
      return told && bodyStory(operation, told);
    },
  };
}

/** A story with another body. Without `refuse` the service may accept or refuse it. */
export function bodyStory(operation: Operation, told: BodyStory): Story {
  const { body, headers, step, refuse, refused_with = [], ...story } = told;
  return {
    ...story,
    steps: [`Prepare ${nameOf(operation)}`, step],
    request: { body, headers },
    refused: refuse ? refuses(operation) : documented(operation, ...refused_with) !== undefined,
    // An internal error of the handler must not reach the client.
    forbidden: { traces: true, ...story.forbidden },
  };
}

function sampleText({ body }: Operation): string {
  return encodeBody(body!);
}

function cut(text: string): string {
  return text.length > 2 ? text.slice(0, Math.ceil(text.length / 2)) : '{"a": "';
}
