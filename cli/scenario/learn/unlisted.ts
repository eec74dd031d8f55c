import type { Operation } from "../generate/operation.ts";
import { areaOf } from "../generate/recorded.ts";

/** Addresses that services serve without naming them. Only what they show by mistake is told. */
const USUAL = [
  "/debug",
  "/_debug",
  "/debug/vars",
  "/debug/config",
  "/debug/users",
  "/env",
  "/info",
  "/config",
  "/config.json",
  "/settings",
  "/internal/users",
  "/admin/users",
  "/users",
  "/actuator/env",
  "/actuator/configprops",
  "/system/info",
  "/system-info",
  "/api/debug",
  "/api/env",
  "/api/info",
  "/api/config",
  "/api/settings",
  "/api/users",
  "/api/admin/users",
  "/api/internal/users",
  "/api/system/info",
];
const GRAPHQL = ["/graphql", "/api/graphql", "/v1/graphql"];
/** The most addresses that answers name, and the most older versions. */
const NAMED = 20;
const OLDER = 10;
const ADDRESS = /^\/[a-z][\w/.-]{2,80}$/i;
const PAGE = /\.(png|jpe?g|gif|svg|ico|css|js|html?|pdf|zip|gz|woff2?)$/i;
const ENDING = /log-?out|sign-?out|delete|remove|reset|drop|create|shut-?down|restart|revoke/i;

/** GET requests to addresses that the document does not name: usual, older, and named in answers. */
export function unlistedReads(operations: Operation[], texts: Iterable<string>): Operation[] {
  const listed = operations.map(({ path }) => patternOf(path));
  const named = [...texts].filter((one) => ADDRESS.test(one) && !PAGE.test(one)).slice(0, NAMED);
  const older = operations.flatMap(({ path, method }) => {
    const version = Number(/\/v(\d)\//.exec(path)?.[1] ?? 1);
    const isList = method === "GET" && !path.includes("{") && version > 1;
    return isList ? [path.replace(/\/v\d\//, `/v${version - 1}/`)] : [];
  }).slice(0, OLDER);
  return [...new Set([...USUAL, ...older, ...named])]
    .filter((path) => !listed.some((one) => one.test(path)) && !ENDING.test(path))
    .map((path) => operationOf("GET", path, operations[0]));
}

/** POST requests that ask a GraphQL service for its schema. */
export function unlistedGraphs(operations: Operation[]): Operation[] {
  const listed = operations.filter(({ method }) => method === "POST").map(({ path }) => path);
  return GRAPHQL.filter((path) => !listed.includes(path)).map((path) => ({
    ...operationOf("POST", path, operations[0]),
    body: {
      required: true,
      content_type: "application/json",
      schema: {},
      sample: { query: "{ __schema { queryType { name } types { name } } }" },
    },
  }));
}

function operationOf(method: string, path: string, like: Operation | undefined): Operation {
  return {
    method,
    path,
    summary: "",
    area: areaOf(path),
    parameters: [],
    body: null,
    statuses: [],
    security: [],
    source: like?.source ?? null,
    line: null,
    unlisted: true,
  };
}

/** The addresses that a path with parameters stands for. */
function patternOf(path: string): RegExp {
  const parts = path.replace(/\/$/, "").split(/\{[^{}]+\}/).map((one) =>
    one.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&")
  );
  return new RegExp(`^${parts.join("[^/]+")}/?$`);
}
