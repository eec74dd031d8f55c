import { changes, documented, draft, type Family, nameOf } from "../family.ts";

/** Who may call an operation: missing, broken and foreign credentials. */
export const ACCESS: Family[] = [
  {
    name: "auth_missing",
    depth: "light",
    generate: (operation) =>
      operation.security.length === 0 ? [] : [draft(operation, {
        family: "auth_missing",
        title: `Calling ${nameOf(operation)} without logging in`,
        who: "Somebody who never logged in found the address in a browser's history.",
        steps: [`Send ${nameOf(operation)} without any credential`],
        chaos: ["No Authorization header, no key, no cookie"],
        expected: "The request is refused before anything is read or changed.",
        failures: [
          "Data is shown to a stranger",
          ...(changes(operation) ? ["A stranger changes data"] : []),
        ],
        priority: "critical",
        anonymous: true,
        request: { headers: { Authorization: null } },
        expected_status: documented(operation, 401, 403) ?? 401,
      })],
  },
  {
    name: "auth_garbage",
    depth: "light",
    generate: (operation) =>
      operation.security.length === 0 ? [] : [draft(operation, {
        family: "auth_garbage",
        title: `Calling ${nameOf(operation)} with a made-up credential`,
        who: "An attacker tries a token that merely looks like one.",
        steps: [`Send ${nameOf(operation)} with a bearer token that nobody issued`],
        chaos: ["The token has the right form and no meaning"],
        expected: "The token is checked, not only looked for: the request is refused.",
        failures: ["Any token opens the door", "The check of the token crashes"],
        priority: "critical",
        request: {
          headers: {
            Authorization: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
          },
        },
        expected_status: documented(operation, 401, 403) ?? 401,
      })],
  },
  {
    name: "auth_scheme",
    depth: "aggressive",
    generate: (operation) =>
      operation.security.length === 0 ? [] : [draft(operation, {
        family: "auth_scheme",
        title: `Calling ${nameOf(operation)} with a broken Authorization header`,
        who: "A client library sends a scheme that the service has never heard of.",
        steps: [`Send ${nameOf(operation)} with "Authorization: Bearer" and nothing behind it`],
        chaos: ["The header is there, its value is not"],
        expected: "The request is refused like one without a credential.",
        failures: ["The parser of the header crashes"],
        priority: "medium",
        request: { headers: { Authorization: "Bearer" } },
        expected_status: documented(operation, 401, 403),
      })],
  },
];
