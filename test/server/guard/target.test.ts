import fc from "fast-check";
import { expect, test } from "vitest";
import { isAllowed, isPublic } from "../../../server/auth/scopes.ts";
import { parseTarget } from "../../../server/guard/target.ts";

test.each([
  "/",
  "/api/actions",
  "/api/actions?count=true",
  "/api/actions?path=src%2Fa.ts&x=//..;\\%00",
  "/api/actions/a%20b%C3%A9",
  "/api/actions/%25",
  "/assets/main-A1.js",
])("parseTarget() accepts %s", (raw) => {
  const { path, query } = parseTarget(raw);
  expect(path + query).toBe(raw);
});

test.each([
  "",
  "*",
  "api",
  "http://localhost/api",
  "//api/actions",
  "/api//actions",
  "/api/./actions",
  "/api/actions/.",
  "/api/actions/..",
  "/public/../api",
  "/api/%2e%2e/x",
  "/api%2factions",
  "/api/%5cactions",
  "/api\\actions",
  "/api;x/actions",
  "/api/%3bx",
  "/%61pi/actions",
  "/api/%7Ex",
  "/api/a%00",
  "/api/%0d%0aX:1",
  "/api/%zz",
  "/api/%",
  "/api/%c0%ae",
  "/api/é",
  "/api/a b",
  "/api/a\tb",
  "/api/a#b",
  '/api/a"b',
  "/api/a|b",
  "/api/{id}",
  "/api?x=%zz",
  "/api?x=\u0001",
])("parseTarget() refuses %j", (raw) => {
  expect(() => parseTarget(raw)).toThrow(/Cannot read the address/);
});

const part = fc.oneof(
  fc.constantFrom("/", "//", ".", "..", "%2e", "%2E", "%2f", "%5c", "\\", ";", "?", "#", "@", ":"),
  fc.constantFrom(
    "api",
    "actions",
    "%61",
    "approve",
    "assets",
    "%25",
    "%252e",
    "%00",
    "\u00e9",
    " ",
  ),
  fc.string({ maxLength: 3 }),
);
const target = fc.array(part, { maxLength: 10 }).map((parts) => `/${parts.join("")}`);

test("an accepted target has the same path and query for the URL parser", () => {
  fc.assert(
    fc.property(target, (raw) => {
      let clear;
      try {
        clear = parseTarget(raw);
      } catch {
        return;
      }
      const url = new URL(`http://localhost${raw}`);
      expect(url.host).toBe("localhost");
      expect(url.pathname).toBe(clear.path);
      expect(url.search).toBe(clear.query === "?" ? "" : new URL(`http://x/${clear.query}`).search);
      expect(decodeURIComponent(clear.path).split("/")).not.toContain("..");
    }),
    { numRuns: 5_000 },
  );
});

test("no spelling of a protected route is public", () => {
  const spelling = fc.constantFrom("/api/actions", "/metrics", "/mcp", "/api/events").chain((
    path,
  ) =>
    fc.tuple(fc.nat(path.length), part).map(([at, extra]) =>
      path.slice(0, at) + extra + path.slice(at)
    )
  );
  fc.assert(
    fc.property(spelling, (raw) => {
      const path = raw.split("?")[0]!;
      if (path.includes("api") || path === "/metrics" || path === "/mcp") {
        expect(isPublic("GET", path)).toBe(false);
      }
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  ["POST", "/api/actions/x/approve"],
  ["POST", "/api/actions/x/approve-with-edit"],
  ["POST", "/api/actions/x/reject"],
  ["POST", "/api/actions/x/rollback"],
  ["POST", "/api/actions/x/replay"],
  ["POST", "/api/actions/x/wait/../approve"],
  ["POST", "/api/global/approvals/x/approve"],
  ["POST", "/api/auth/login-code"],
  ["DELETE", "/api/hub/projects/x"],
  ["PUT", "/api/config/policies"],
  ["GET", "/api/actions"],
  ["GET", "/api/audit/export"],
  ["GET", "/api/audit/verify"],
  ["GET", "/api/config"],
  ["GET", "/api/events"],
  ["GET", "/api/global/actions"],
  ["GET", "/metrics"],
  ["DELETE", "/api/agent-monitor/ports/1"],
  ["POST", "/api/team/members"],
  ["POST", "/api/anything/new"],
])("an agent may not %s %s, and a viewer may only read", (method, path) => {
  expect(isAllowed("agent", method, path)).toBe(false);
  expect(isAllowed("viewer", method, path)).toBe(method === "GET");
  expect(isAllowed("reviewer", method, path)).toBe(true);
});
