import { changes, documented, type Draft, draft, type Family, nameOf } from "../family.ts";
import type { Credential, Operation } from "../operation.ts";

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
    generate: (operation) => withForged(operation, forgedCredential),
  },
  {
    name: "auth_scheme",
    depth: "normal",
    generate: (operation) => withForged(operation, brokenHeader),
  },
];

/** One scenario with the first credential that a header carries. */
function withForged(
  operation: Operation,
  tell: (operation: Operation, header: string, forged: string) => Draft,
): Draft[] {
  const carried = operation.security.find(({ header }) => header !== null) as
    | Credential & { header: string }
    | undefined;
  return carried ? [tell(operation, carried.header, carried.forged)] : [];
}

function forgedCredential(operation: Operation, header: string, forged: string): Draft {
  return draft(operation, {
    family: "auth_garbage",
    title: `Calling ${nameOf(operation)} with a made-up credential`,
    who: "An attacker tries a credential that merely looks like one.",
    steps: [`Send ${nameOf(operation)} with "${header}: ${forged}", which nobody issued`],
    chaos: ["The credential has the right form and no meaning"],
    expected: "The credential is checked, not only looked for: the request is refused.",
    failures: ["Any credential opens the door", "The check of the credential crashes"],
    priority: "critical",
    anonymous: true,
    request: { headers: { [header]: forged } },
    expected_status: documented(operation, 401, 403) ?? 401,
  });
}

function brokenHeader(operation: Operation, header: string, forged: string): Draft {
  const broken = forged.split(/[ =]/)[0]!;
  return draft(operation, {
    family: "auth_scheme",
    title: `Calling ${nameOf(operation)} with a broken ${header} header`,
    who: "A client library sends the name of a scheme and forgets what belongs behind it.",
    steps: [`Send ${nameOf(operation)} with "${header}: ${broken}" and nothing behind it`],
    chaos: ["The header is there, its value is not"],
    expected: "The request is refused like one without a credential.",
    failures: ["The parser of the header crashes"],
    priority: "medium",
    anonymous: true,
    request: { headers: { [header]: broken } },
    expected_status: documented(operation, 401, 403),
  });
}
