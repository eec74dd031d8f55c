import { changes, documented, type Family, nameOf } from "../family.ts";

/** The documented good case, other verbs and odd headers. */
export const PROTOCOL: Family[] = [
  {
    name: "good_case",
    depth: "light",
    tell: (operation) => {
      const open = operation.security.length === 0 && !operation.path.includes("{");
      const reads = ["GET", "HEAD"].includes(operation.method);
      return {
        title: `Using ${nameOf(operation)} as documented`,
        who: `A user does what the documentation shows: ${operation.summary}.`,
        steps: [`Send ${nameOf(operation)} with the documented example`],
        chaos: ["None: this is the case everything else is compared with"],
        expected: "The request is answered as documented.",
        failures: ["The documented example does not work"],
        priority: "high",
        is_edge_case: false,
        expected_status: open && reads ? documented(operation, 200, 204, 206) : undefined,
      };
    },
  },
  {
    name: "method_unsupported",
    depth: "normal",
    tell: (operation) => ({
      title: `Sending TRACE to ${operation.path}`,
      who: "A scanner tries every verb there is.",
      steps: [`Send TRACE ${operation.path}`],
      chaos: ["No handler was written for this verb"],
      expected: "The verb is refused with 405 and a list of those that work.",
      failures: [
        "The router crashes on an unknown verb",
        "The request is echoed with its credentials",
      ],
      priority: "low",
      request: { method: "TRACE", body: null, headers: { "Content-Type": null } },
    }),
  },
  {
    name: "header_range",
    depth: "aggressive",
    tell: (operation) =>
      operation.method !== "GET" ? null : {
        title: `Asking ${nameOf(operation)} for bytes that are not there`,
        who: "A download manager resumes a file that has become shorter.",
        steps: [`Send ${nameOf(operation)} with "Range: bytes=9-1, -0"`],
        chaos: ["The range is reversed and empty"],
        expected: "The range is ignored, or refused with 416.",
        failures: ["The range's arithmetic goes below zero and crashes"],
        priority: "low",
        request: { headers: { Range: "bytes=9-1, -0" } },
      },
  },
  {
    name: "header_accept",
    depth: "aggressive",
    tell: (operation) => ({
      title: `Asking ${nameOf(operation)} for a format that cannot be`,
      who: "An embedded device sends an Accept header that nobody tested.",
      steps: [`Send ${nameOf(operation)} with "Accept: ;q=NaN, */;q=2"`],
      chaos: ["The header breaks the grammar of RFC 9110"],
      expected: "The header is ignored, or the request refused with 406 or 400.",
      failures: ["Content negotiation throws"],
      priority: "low",
      request: { headers: { Accept: ";q=NaN, */;q=2" } },
    }),
  },
  {
    name: "header_cookie",
    depth: "aggressive",
    tell: (operation) => ({
      title: `Coming to ${nameOf(operation)} with a broken cookie`,
      who: "A returning user still has a cookie of a version that is long gone.",
      steps: [`Send ${nameOf(operation)} with a cookie that cannot be decoded`],
      chaos: ["The session cookie is cut off in the middle"],
      expected: "The cookie is ignored and the user treated as a stranger.",
      failures: ["Decoding the cookie throws on every page until it expires"],
      priority: changes(operation) ? "medium" : "low",
      request: { headers: { Cookie: "session=%E0%A4%A; =; __proto__=x" } },
    }),
  },
];
