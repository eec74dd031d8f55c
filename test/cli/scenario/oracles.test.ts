import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { folder, serve, tool } from "./harness.ts";

const ok = { responses: { 200: { description: "" } } };
const json = (properties: object, required: string[] = []) => ({
  requestBody: {
    content: { "application/json": { schema: { type: "object", required, properties } } },
  },
});
const text = { type: "string" };
const bearer = { securitySchemes: { key: { type: "http", scheme: "bearer" } } };
const guarded = { security: [{ key: [] }] };

type Answer = [number, unknown?];
type Handler = (
  call: { line: string; sent: Record<string, unknown>; request: IncomingMessage },
) => Answer | Promise<Answer>;

/** The verdicts and reasons of one family, by operation. */
async function run(family: string, paths: object, handler: Handler, ...argv: string[]) {
  const { url } = await serve(async (request, response, body) => {
    const sent = parse(body);
    const line = `${request.method} ${request.url}`;
    const [status, value = {}] = await handler({ line, sent, request });
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(value));
  });
  const document = {
    openapi: "3.1.0",
    info: { title: "x", version: "1" },
    components: bearer,
    paths,
  };
  const cwd = folder({ "openapi.json": document });
  const { stdout } = await tool(cwd, "run", "--target", url, "--output", "json", ...argv, ...PLAY);
  const { scenarios, executions } = JSON.parse(stdout);
  return executions.flatMap(({ status, reason }: Record<string, string>, n: number) =>
    scenarios[n].family === family ? [{ status, reason, operation: scenarios[n].operation }] : []
  );
}

const PLAY = ["--driver", "playbook"];

function parse(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

describe("SQL injection by behaviour", () => {
  const inPath = { parameters: [{ name: "name", in: "path", required: true, schema: text }] };
  const users = { "/users": { get: ok }, "/users/{name}": { ...inPath, get: ok } };
  const named = (line: string) => decode(line.split("/").at(-1)!);
  const decode = (value: string) => {
    try {
      return decodeURIComponent(value);
    } catch {
      return "";
    }
  };

  test.each<[string, (name: string) => number, string]>([
    [
      "a lone quote that crashes",
      (name) => name.replaceAll("''", "").includes("'") ? 500 : 404,
      "failed",
    ],
    ["a condition that is always true", (name) => /' OR '1'='1$/.test(name) ? 200 : 404, "failed"],
    [
      "a comment behind the condition",
      (name) => /' OR '1'='1' -- $/.test(name) ? 200 : 404,
      "failed",
    ],
    ["a quote like any other", () => 404, "passed"],
    ["every odd name refused", (name) => /^\w+$/.test(name) ? 404 : 400, "passed"],
    ["a crash at any quote", (name) => name.includes("'") ? 500 : 404, "inconclusive"],
  ])("%s: %s", async (_name, status, verdict) => {
    const found = await run("sql_injection", users, ({ line }) => {
      if (line === "GET /users") return [200, [{ name: "ann" }]];
      return named(line) === "ann" ? [200] : [status(named(line))];
    });
    expect(found).toMatchObject([{ status: verdict, operation: "GET /users/{name}" }]);
  });

  test("a login that the condition opens", async () => {
    const paths = { "/login": { post: { ...json({ user: text, word: text }), ...ok } } };
    const found = await run("sql_injection", paths, ({ sent }) => {
      if (/' OR '1'='1' -- $/.test(String(sent.user))) return [200, { token: "x" }];
      return [401, { error: "no" }];
    });
    expect(found[0]).toMatchObject({ status: "failed" });
    expect(found[0].reason).toMatch(/like a value that exists.* was answered 401/);
  });
});

describe("forged tokens", () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = (key: string) => {
    const unsigned = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: "alice", exp: 4e9 })}`;
    return `${unsigned}.${createHmac("sha256", key).update(unsigned).digest("base64url")}`;
  };
  const STRONG = "kP0-9vR_d8Qq2Lr7mZx41";

  /** A service that checks its tokens, but for one thing. */
  const service = (key: string, flaw: string): Handler => ({ request }) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (!token) return [401];
    const [head = "", claims = "", signature = ""] = token.split(".");
    const { alg } = JSON.parse(Buffer.from(head, "base64url").toString());
    const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString());
    const right = createHmac("sha256", key).update(`${head}.${claims}`).digest("base64url");
    if (alg === "none") return flaw === "none" ? [200] : [401];
    if (signature !== right && flaw !== "signature") return [401];
    return exp < 2e9 && flaw !== "expired" ? [401] : [200];
  };

  test.each([
    ["signature", STRONG, "signature", "failed"],
    ["none", STRONG, "none", "failed"],
    ["weak_key", "secret123", "", "failed"],
    ["expired", "secret123", "expired", "failed"],
    ["signature", STRONG, "", "passed"],
    ["none", STRONG, "", "passed"],
    ["weak_key", STRONG, "", "inconclusive"],
    ["expired", "secret123", "", "passed"],
  ])("%s with the key %s and the flaw %j: %4$s", async (kind, key, flaw, verdict) => {
    const paths = { "/me": { get: { ...guarded, ...ok } } };
    const login = ["--as", `alice=Authorization: Bearer ${signed(key)}`];
    const found = await run(`forged_token_${kind}`, paths, service(key, flaw), ...login);
    expect(found).toMatchObject([{ status: verdict }]);
  });

  test("where nobody is asked for a login, a forged one proves nothing", async () => {
    const paths = { "/me": { get: { ...guarded, ...ok } } };
    const login = ["--as", `alice=Authorization: Bearer ${signed(STRONG)}`];
    const found = await run("forged_token_none", paths, () => [200], ...login);
    expect(found).toMatchObject([{ status: "inconclusive" }]);
  });
});

describe("secrets in answers", () => {
  test.each<[string, unknown, string]>([
    ["a password", { users: [{ name: "ann", password: "pass1" }] }, "failed"],
    ["a hash", { note: `$2b$12$${"x".repeat(53)}` }, "failed"],
    ["the code of a card", { cards: [{ cvv: 123 }] }, "failed"],
    ["a mask", { password: "***" }, "passed"],
    ["a word about it", { message: "password updated" }, "passed"],
    ["the schema of a field", { password: { type: "string" } }, "passed"],
  ])("%s: %s", async (_name, answer, verdict) => {
    const found = await run("secrets_shown", { "/users": { get: ok } }, () => [200, answer]);
    expect(found).toMatchObject([{ status: verdict }]);
  });
});

describe("privileges that are sent while signing up", () => {
  test.each<[string, (sent: Record<string, unknown>) => object, string]>([
    ["are kept", (sent) => ({ username: sent.username, admin: sent.admin ?? false }), "failed"],
    ["are ignored", ({ username }) => ({ username, admin: false }), "passed"],
    ["were everybody's before", ({ username }) => ({ username, admin: true }), "passed"],
  ])("%s", async (_name, stored, verdict) => {
    const users: object[] = [];
    const paths = {
      "/register": { post: { ...json({ username: text }, ["username"]), ...ok } },
      "/users": { get: ok },
    };
    const found = await run("granted_on_create", paths, ({ line, sent }) => {
      if (line === "POST /register") return [users.push(stored(sent)) && 200];
      return [200, { users }];
    });
    expect(found).toMatchObject([{ status: verdict, operation: "POST /register" }]);
  });
});

test.each([["accepted", 200, "failed"], ["refused", 400, "passed"]])(
  "a negative amount that is %s: %3$s",
  async (_name, status, verdict) => {
    const paths = { "/pay": { post: { ...json({ amount: { type: "integer" } }), ...ok } } };
    const found = await run("negative_amount", paths, ({ sent }) => [
      Number(sent.amount) < 0 ? Number(status) : 200,
    ]);
    expect(found).toMatchObject([{ status: verdict }]);
  },
);

test.each<[string, (user: unknown) => Answer, string]>([
  [
    "other words",
    (user) => [401, { error: user === "ann" ? "wrong password" : "no user" }],
    "failed",
  ],
  ["another status", (user) => [user === "ann" ? 403 : 404], "failed"],
  ["the same answer", () => [401, { error: "no" }], "passed"],
  ["a limit", (user) => user === "ann" ? [401] : [429], "inconclusive"],
])("a login that refuses unknown users with %s: %3$s", async (_name, refuse, verdict) => {
  const paths = {
    "/login": { post: { ...json({ username: text, password: text }), ...ok } },
    "/users": { get: ok },
  };
  const found = await run(
    "user_enumeration",
    paths,
    ({ line, sent }) =>
      line === "GET /users" ? [200, [{ username: "ann" }]] : refuse(sent.username),
  );
  expect(found).toMatchObject([{ status: verdict }]);
});

describe("what belongs to one login alone", () => {
  const accounts = {
    "/accounts/{account}": {
      parameters: [{ name: "account", in: "path", required: true, schema: text }],
      get: { ...guarded, ...ok },
    },
  };
  const logins = [
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
    ...["--as-value", "alice.account=A-1", "--as-value", "bob.account=B-1"],
  ];

  test.each([["served to all", 200, "failed"], ["guarded", 403, "passed"], [
    "hidden",
    404,
    "passed",
  ]])(
    "%s: %3$s",
    async (_name, status, verdict) => {
      const found = await run("foreign_value", accounts, ({ line, request }) => {
        const isAlice = request.headers.authorization === "Bearer alice";
        if (!request.headers.authorization) return [401];
        return line.endsWith("/A-1") ? [isAlice ? 200 : Number(status)] : [404];
      }, ...logins);
      expect(found).toMatchObject([{ status: verdict }]);
    },
  );
});

describe("a race that was generated", () => {
  const paths = { "/vouchers/redeem": { post: { ...json({ voucher: text }), ...ok } } };

  test.each<[string, () => Handler, string, RegExp]>([
    [
      "a window between check and set",
      () => {
        let used = false;
        let first = true;
        return async () => {
          // The rehearsal comes first, and takes nothing here.
          if (first) return (first = false, [200]);
          if (used) return [409];
          await new Promise((resolve) => setTimeout(resolve, 30));
          used = true;
          return [200];
        };
      },
      "failed",
      /one more afterwards was answered 409/,
    ],
    ["a request that may be repeated", () => () => [200], "inconclusive", /may be repeated/],
    [
      "a state that was spent before",
      () => {
        let first = true;
        return () => first ? (first = false, [200]) : [400];
      },
      "inconclusive",
      /^Proves nothing: all 10 were refused \(400\)/,
    ],
  ])("%s: %s", async (_name, service, verdict, reason) => {
    const found = await run("double_submit", paths, service(), "--filter", "ten times");
    expect(found).toMatchObject([{ status: verdict, reason: expect.stringMatching(reason) }]);
  });
});
