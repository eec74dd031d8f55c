import { changes, documented, type Family, nameOf, type Story } from "../family.ts";
import type { Operation } from "../operation.ts";
import { freshRequest } from "../playbooks/resource.ts";

/** Addresses for monitors and load balancers, which no login guards. */
const PUBLIC =
  /\/(health|healthz|health-?check|ready|readyz|live|livez|liveness|readiness|ping)\/?$/i;

/** Missing, broken and forged credentials. */
export const ACCESS: Family[] = [
  {
    name: "auth_missing",
    depth: "light",
    tell: (operation) =>
      operation.security.length === 0 || PUBLIC.test(operation.path) ? null : {
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
        expected_status: documented(operation, 401, 403),
        denied: true,
      },
  },
  forged("auth_garbage", "light", (operation, header, credential) => ({
    title: `Calling ${nameOf(operation)} with a made-up credential`,
    who: "An attacker tries a credential that merely looks like one.",
    steps: [`Send ${nameOf(operation)} with "${header}: ${credential}", which nobody issued`],
    chaos: ["The credential has the right form and no meaning"],
    expected: "The credential is checked, not only looked for: the request is refused.",
    failures: ["Any credential opens the door", "The check of the credential crashes"],
    priority: "critical",
    anonymous: true,
    request: { headers: { [header]: credential } },
    expected_status: documented(operation, 401, 403),
    denied: true,
  })),
  forged("auth_scheme", "normal", (operation, header, credential) => {
    const scheme = credential.split(/[ =]/)[0]!;
    return {
      title: `Calling ${nameOf(operation)} with a broken ${header} header`,
      who: "A client library sends the name of a scheme and forgets what belongs behind it.",
      steps: [`Send ${nameOf(operation)} with "${header}: ${scheme}" and nothing behind it`],
      chaos: ["The header is there, its value is not"],
      expected: "The request is refused like one without a credential.",
      failures: ["The parser of the header crashes"],
      priority: "medium",
      anonymous: true,
      request: { headers: { [header]: scheme } },
      expected_status: documented(operation, 401, 403),
      denied: true,
    };
  }),
  { name: "secrets_shown", depth: "normal", tell: secrets },
  { name: "graph_schema", depth: "normal", tell: graphSchema },
];

/** A GraphQL service that tells everybody its whole schema. */
function graphSchema(operation: Operation): Story | null {
  const { learned, method, path } = operation;
  if (method !== "POST" || !/graphql$/i.test(path) || !learned) return null;
  return {
    title: `Asking ${nameOf(operation)} for its whole schema`,
    who: "Somebody asks the service which queries and fields it has.",
    steps: ["Send the query for the schema"],
    chaos: ["The service runs with the settings of its developers"],
    expected: "The schema is shown to developers only.",
    failures: ["Fields and queries that no page uses are found and tried"],
    priority: "low",
    anonymous: learned.as === "nobody",
    request: {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: "{ __schema { queryType { name } types { name } } }" }),
    },
    forbidden: { texts: ['"queryType"'] },
  };
}

/** Passwords, hashes and card codes that an answer shows. */
function secrets(operation: Operation): Story[] | null {
  const { learned, method, security } = operation;
  if (method !== "GET" && method !== "POST") return null;
  const isOpen = security.length === 0;
  // A document that names no login may belong to a service that asks for one.
  const isUser = learned !== undefined && learned.as !== null && learned.as !== "nobody";
  return [
    lookingFor(operation, isOpen),
    ...(isOpen && isUser ? [lookingFor(operation, false)] : []),
  ];
}

function lookingFor(operation: Operation, isOpen: boolean): Story {
  return {
    title: `Looking for secrets in the answer of ${nameOf(operation)}`,
    who: `${
      isOpen ? "Somebody without a login" : "A user"
    } opens the developer tools of the browser.`,
    steps: [`Send ${nameOf(operation)} and read the whole answer`],
    chaos: ["The answer holds every column of the table"],
    expected: isOpen
      ? "No answer shows a password, its hash, a PIN, the code of a card or the instructions of a model."
      : "No answer shows a password, its hash, a PIN or the code of a card.",
    failures: ["A stolen answer opens accounts"],
    priority: isOpen ? "critical" : "high",
    anonymous: isOpen,
    request: { body: freshRequest(operation).body },
    forbidden: { secrets: true, ...(isOpen ? { prompts: true } : {}) },
  };
}

/** A family for operations whose credential is in a header; tells about the first such header. */
function forged(
  name: string,
  depth: Family["depth"],
  tell: (operation: Operation, header: string, credential: string) => Story,
): Family {
  return {
    name,
    depth,
    tell: (operation) => {
      const carried = operation.security.find(({ header }) => header !== null);
      return carried && !PUBLIC.test(operation.path)
        ? tell(operation, carried.header!, carried.forged)
        : null;
    },
  };
}
