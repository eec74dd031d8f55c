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
const number = { type: "integer" };
const bearer = { securitySchemes: { key: { type: "http", scheme: "bearer" } } };
const guarded = { security: [{ key: [] }] };

type Answer = [number, unknown?];
type Handler = (
  call: { line: string; body: string; sent: Record<string, unknown>; request: IncomingMessage },
) => Answer | Promise<Answer>;

/** The verdicts and reasons of one family, by operation. */
async function run(family: string, paths: object, handler: Handler, ...argv: string[]) {
  const { url } = await serve(async (request, response, body) => {
    const sent = parse(body);
    const line = `${request.method} ${request.url}`;
    // The rehearsal looks at addresses that no document names too.
    const isNamed = Object.keys(paths).some((path) => placeOf(path).test(request.url!));
    const [status, value = {}] = isNamed ? await handler({ line, body, sent, request }) : [404];
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

/** The addresses of a path with parameters. */
function placeOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[^{}]+\}/g, "[^/]*")}/?([?].*)?$`);
}

const ANN = ["--as", "alice=Authorization: Bearer a", "--as-value", "alice.username=ann"];
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
  const signed = (key: string, claims: object = { sub: "alice", exp: 4e9 }) => {
    const unsigned = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
    return `${unsigned}.${createHmac("sha256", key).update(unsigned).digest("base64url")}`;
  };
  const STRONG = "kP0-9vR_d8Qq2Lr7mZx41";
  const ISSUED = 1_795_000_000;

  /** A service that checks its tokens, but for one thing. */
  const service = (key: string, flaw: string): Handler => ({ request }) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (!token) return [401];
    const [head = "", claims = "", signature = ""] = token.split(".");
    const { alg } = JSON.parse(Buffer.from(head, "base64url").toString());
    const { exp, iat } = JSON.parse(Buffer.from(claims, "base64url").toString());
    const right = createHmac("sha256", key).update(`${head}.${claims}`).digest("base64url");
    if (alg === "none") return flaw === "none" ? [200] : [401];
    if (signature !== right && flaw !== "signature") return [401];
    if (iat !== undefined && iat < ISSUED && flaw !== "endless") return [401];
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

  test.each<[string, object, string, string]>([
    ["that asks how old it is", { iat: ISSUED }, "", "passed"],
    ["that does not", { iat: ISSUED }, "endless", "failed"],
    ["whose tokens end", { iat: ISSUED, exp: 4e9 }, "endless", "inconclusive"],
  ])("an old token without an end at a service %s: %4$s", async (_name, claims, flaw, verdict) => {
    const paths = { "/me": { get: { ...guarded, ...ok } } };
    const token = signed("secret123", { sub: "alice", ...claims });
    const login = ["--as", `alice=Authorization: Bearer ${token}`];
    const found = await run("forged_token_endless", paths, service("secret123", flaw), ...login);
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
    ({ line, sent }) => {
      if (line === "GET /users") return [200, [{ username: "ann" }]];
      return sent.password === "right" ? [200] : refuse(sent.username);
    },
    ...["--value", "password=right"],
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

describe("a record that only a list shows", () => {
  const paths = {
    "/notes": { get: { ...guarded, ...ok }, post: { ...guarded, ...json({ note: text }), ...ok } },
    "/notes/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: text }],
      delete: { ...guarded, ...ok },
    },
  };
  const logins = [
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
  ];

  test.each<[string, "deletes" | "pretends" | "refuses" | "refuses all", string]>([
    ["is deleted by another user", "deletes", "failed"],
    ["stays, whatever the deletion is answered", "pretends", "passed"],
    ["stays, and its owner may delete it", "refuses", "passed"],
    ["stays, and nobody may delete it", "refuses all", "inconclusive"],
  ])("%s: %3$s", async (_name, way, verdict) => {
    const notes = new Map<string, { id: string; owner: string }>();
    const found = await run("foreign_record", paths, ({ line, request }) => {
      const owner = /^Bearer (alice|bob)$/.exec(request.headers.authorization ?? "")?.[1];
      if (owner === undefined) return [401];
      if (line.startsWith("GET")) {
        return [200, [...notes.values()].filter((one) => one.owner === owner)];
      }
      if (line.startsWith("POST")) {
        const id = `n-${crypto.randomUUID()}`;
        notes.set(id, { id, owner });
        return [201, { id }];
      }
      const note = notes.get(line.split("/").at(-1)!);
      if (!note) return [404];
      if (way === "refuses all") return [403];
      if (note.owner !== owner && way !== "deletes") return [way === "pretends" ? 204 : 403];
      notes.delete(note.id);
      return [200];
    }, ...logins);
    expect(found).toMatchObject([{ status: verdict, operation: "DELETE /notes/{id}" }]);
  });
});

test.each([
  ["a SQLite database", "SQLite format 3\0\u0010", "failed", "a whole database"],
  ["a copy of PostgreSQL", "PGDMP\u0001", "failed", "a whole database"],
  ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nMII", "failed", "a private key"],
  ["a public key", "-----BEGIN PUBLIC KEY-----\nMII", "passed", ""],
  ["a text about SQLite", "The file begins with SQLite format 3\0", "passed", ""],
])("a download of %s: %3$s", async (_name, file, status, words) => {
  const { url } = await serve((request, response) => {
    if (request.url !== "/download") return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(file);
  });
  const paths = { "/download": { get: ok } };
  const cwd = folder({
    "openapi.json": { openapi: "3.1.0", info: { title: "x", version: "1" }, paths },
  });
  const only = ["--filter", "Looking for secrets"];
  const { stdout } = await tool(cwd, "run", "--target", url, "--output", "json", ...only);
  expect(JSON.parse(stdout).executions).toMatchObject([
    { status, reason: expect.stringContaining(words) },
  ]);
});

test.each<[string, boolean, string]>([
  ["everybody", false, "inconclusive"],
  ["those with a login", true, "failed"],
])("a user's record that a list shows to %s: %3$s", async (_name, needed, verdict) => {
  const paths = {
    "/users": { get: ok },
    "/users/{username}": {
      parameters: [{ name: "username", in: "path", required: true, schema: text }],
      get: ok,
    },
    ...(needed ? {} : { "/me": { get: { ...guarded, ...ok } } }),
  };
  const users = ["ann", "bea"].map((username) => ({ username, email: `${username}@example.com` }));
  const found = await run(
    "foreign_value",
    paths,
    ({ line, request }) => {
      if (line === "GET /users") {
        return needed && request.headers.authorization === undefined ? [401] : [200, { users }];
      }
      const user = users.find(({ username }) => line.endsWith(`/${username}`));
      return user ? [200, user] : [404];
    },
    ...ANN,
    "--as",
    "bob=Authorization: Bearer bob",
  );
  expect(found).toMatchObject([{ status: verdict }]);
});

test.each<[string, (sent: Record<string, unknown>) => object, string]>([
  ["stores it", (sent) => ({ user: { id: 1, admin: sent.admin ?? false }, sent }), "failed"],
  ["ignores it", (sent) => ({ user: { id: 1, admin: false }, sent }), "passed"],
  ["echoes it", (sent) => ({ ...sent }), "passed"],
  ["makes everybody one", () => ({ user: { id: 1, admin: true } }), "passed"],
])("a privilege in a registration whose answer %s: %3$s", async (_name, answer, verdict) => {
  const paths = { "/register": { post: { ...json({ username: text }, ["username"]), ...ok } } };
  // Node cannot write the 5,000 nested arrays of another scenario back.
  const only = ["--filter", "Giving oneself a role"];
  const found = await run("granted_on_create", paths, ({ sent }) => [200, answer(sent)], ...only);
  expect(found).toMatchObject([{ status: verdict }]);
});

describe("the name of a user in the address of a change", () => {
  const name = { name: "username", in: "path", required: true, schema: text };
  const paths = {
    "/users": { post: { ...json({ username: text }, ["username"]), ...ok }, get: ok },
    "/users/{username}": { parameters: [name], get: { ...guarded, ...ok } },
    "/users/{username}/contact": {
      parameters: [name],
      put: { ...guarded, ...json({ contact: text, pin: text }, ["contact"]), ...ok },
    },
  };
  const logins = [
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
    ...["--as-value", "alice.username=alice", "--as-value", "bob.username=bob"],
  ];

  /** A service that shows the contact or hides it, and changes the named user, the caller or nobody. */
  const service = (changed: "named" | "caller" | "own", shows: boolean): Handler => {
    const contacts = new Map([["alice", "a"], ["bob", "b"]]);
    return ({ line, sent, request }) => {
      const caller = /^Bearer (alice|bob)$/.exec(request.headers.authorization ?? "")?.[1];
      const [, list, user, verb] = line.split(" ")[1]!.split("/");
      if (list !== "users") return [404];
      if (!user) return line.startsWith("GET") ? [200, [...contacts.keys()]] : [200];
      if (!caller) return [401];
      if (!contacts.has(user) && !(verb && changed === "caller")) return [404];
      if (!verb) {
        return [200, shows ? { username: user, contact: contacts.get(user) } : { username: user }];
      }
      if (typeof sent.contact !== "string") return [400];
      if (changed === "own" && caller !== user) return [403];
      contacts.set(changed === "named" ? user : caller, `${sent.contact} of ${Math.random()}`);
      return [200];
    };
  };

  test.each<[string, "named" | "caller" | "own", boolean, string]>([
    ["changes the named user, as its record shows", "named", true, "failed"],
    ["changes the named user, and no record shows it", "named", false, "failed"],
    ["takes the user from the login", "caller", true, "inconclusive"],
    ["takes the user from the login, and no record shows it", "caller", false, "inconclusive"],
    ["refuses all but the named user", "own", true, "passed"],
  ])("%s: %4$s", async (_name, changed, shows, verdict) => {
    const found = await run("foreign_value", paths, service(changed, shows), ...logins);
    expect(found.filter((one: { operation: string }) => one.operation.startsWith("PUT")))
      .toMatchObject([{ status: verdict }]);
  });
});

test.each<[string, "body" | "login" | "refused", string]>([
  ["the body", "body", "failed"],
  ["the login", "login", "passed"],
  ["the login, and refuses another name", "refused", "passed"],
])("a service that finds the record to change by %s: %3$s", async (_name, by, verdict) => {
  const paths = {
    "/profile": {
      get: { ...guarded, ...ok },
      put: { ...guarded, ...json({ username: text, city: text }, ["username", "city"]), ...ok },
    },
  };
  const cities = new Map([["alice", "Rome"], ["bob", "Oslo"]]);
  const found = await run(
    "foreign_field",
    paths,
    ({ line, sent, request }) => {
      const caller = /^Bearer (alice|bob)$/.exec(request.headers.authorization ?? "")?.[1];
      if (!caller) return [401];
      if (line.startsWith("GET")) return [200, { username: caller, city: cities.get(caller) }];
      const username = String(sent.username);
      if (by === "refused" && username !== caller) return [403];
      cities.set(by === "body" ? username : caller, String(sent.city));
      return [200];
    },
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
    ...["--as-value", "alice.username=alice", "--as-value", "bob.username=bob"],
  );
  expect(found).toMatchObject([{ status: verdict }]);
});

describe("a record that another user is shown", () => {
  const inPath = (name: string) => ({ name, in: "path", required: true, schema: text });
  const pathsOf = (things: string, withList: boolean) => ({
    [`/${things}`]: {
      post: { ...guarded, ...json({ text }, ["text"]), ...ok },
      ...(withList ? { get: { ...guarded, ...ok } } : {}),
    },
    [`/${things}/{id}`]: { parameters: [inPath("id")], get: { ...guarded, ...ok } },
    [`/${things}/{id}/like`]: { parameters: [inPath("id")], post: { ...guarded, ...ok } },
  });
  const logins = [
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
  ];

  test.each<[string, string, "all" | "own" | null, object, string]>([
    ["comments without a list", "comments", null, {}, "inconclusive"],
    ["comments in a list for everybody", "comments", "all", {}, "inconclusive"],
    ["comments in a list of one's own", "comments", "own", {}, "failed"],
    ["comments with a mail address", "comments", "all", { email: "a@example.com" }, "failed"],
    ["orders without a list", "orders", null, {}, "failed"],
  ])("%s: %5$s", async (_name, things, list, more, verdict) => {
    const records = new Map<string, { owner: string; text: unknown }>();
    const found = await run("foreign_record", pathsOf(things, list !== null), (call) => {
      const { line, sent, request } = call;
      const owner = request.headers.authorization ?? "";
      const [, , id] = line.split(" ")[1]!.split("/");
      if (owner === "") return [401];
      if (id) return records.has(id) ? [200, { id, ...records.get(id), ...more }] : [404];
      if (line.startsWith("POST")) {
        const made = String(records.size + 1);
        records.set(made, { owner, text: sent.text });
        return [200, { id: made }];
      }
      const shown = [...records].filter(([, one]) => list === "all" || one.owner === owner);
      return [200, shown.map(([made, one]) => ({ id: made, ...one }))];
    }, ...logins);
    expect(found.map((one: { status: string }) => one.status)).toEqual([verdict, verdict]);
  });
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
      "a request that may be repeated until there were too many",
      () => {
        let calls = 0;
        return () => [++calls > 11 ? 429 : 200];
      },
      "inconclusive",
      /^Proves no race: All ten succeeded, and one more .* only because there were too many$/,
    ],
    [
      "a request that may be repeated, and crashes beside others",
      () => {
        let calls = 0;
        return () => [++calls === 6 ? 500 : 200];
      },
      "failed",
      /^The race made the server fail with 500$/,
    ],
    [
      "a state that was spent before",
      () => {
        let first = true;
        return () => first ? (first = false, [200]) : [400];
      },
      "inconclusive",
      /^Proves nothing: all ten were refused \(400\)/,
    ],
  ])("%s: %s", async (_name, service, verdict, reason) => {
    const found = await run("double_submit", paths, service(), "--filter", "ten times");
    expect(found).toMatchObject([{ status: verdict, reason: expect.stringMatching(reason) }]);
  });
});

describe("--try login-limit", () => {
  const paths = { "/login": { post: { ...json({ username: text, password: text }), ...ok } } };

  test.each<[string, (n: number) => Answer, string]>([
    ["that is never limited", () => [401], "failed"],
    ["that answers 429 after five", (n) => [n > 5 ? 429 : 401], "passed"],
    ["that locks the user", (n) => [n > 8 ? 423 : 401], "passed"],
    ["that lets everybody in", () => [200], "inconclusive"],
    ["that refuses with 200", () => [200, { status: "fail" }], "failed"],
    ["that crashes", (n) => [n > 3 ? 500 : 401], "inconclusive"],
  ])("a login %s: %3$s", async (_name, answer, verdict) => {
    let wrong = 0;
    const found = await run("login_limit", paths, ({ sent }) => {
      const isTry = String(sent.password).startsWith("wrong-");
      return isTry ? answer(++wrong) : [200];
    }, ...["--try", "login-limit", "--filter", "wrong passwords"]);
    expect(found).toMatchObject([{ status: verdict }]);
    expect(wrong).toBeLessThanOrEqual(20);
  });

  test("is left out without the option, and a wrong word is refused", async () => {
    expect(await run("login_limit", paths, () => [401])).toEqual([]);
    const { code, stderr } = await tool(folder(), "run", "--try", "fast-sql");
    expect(code).toBe(3);
    expect(stderr).toContain("Choose from login-limit, slow-sql");
  });
});

/** The first call with a quote takes long, as on a busy machine. */
function onceSlow(ms: number): (q: string) => number {
  let calls = 0;
  return (q) => q.includes("pg_sleep") && calls++ === 0 ? ms : 0;
}

describe("--try slow-sql", () => {
  const search = {
    "/search": { get: { parameters: [{ name: "q", in: "query", schema: text }], ...ok } },
  };
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test.each<[string, (q: string) => number, string]>([
    ["that waits for it", (q) => Number(/pg_sleep\((\d)\)/.exec(q)?.[1] ?? 0) * 1_000, "failed"],
    ["that is slow for every quote", (q) => q.includes("'") ? 1_600 : 0, "inconclusive"],
    ["that looks for the text", () => 0, "passed"],
    ["that is slow once", onceSlow(1_600), "passed"],
  ])("a query %s: %3$s", async (_name, delay, verdict) => {
    const found = await run("sql_injection_by_time", search, async ({ line }) => {
      await wait(delay(decodeURIComponent(line)));
      return [200, []];
    }, ...["--try", "slow-sql", "--filter", "wait through"]);
    expect(found).toMatchObject([{ status: verdict }]);
  });
});

test.each([["takes it", [200], "failed"], ["refuses it", [400], "passed"]] as const)(
  "an order of zero tickets where the service %s: %3$s",
  async (_name, answer, verdict) => {
    const paths = { "/orders": { post: { ...json({ tickets: { type: "integer" } }), ...ok } } };
    const found = await run(
      "zero_amount",
      paths,
      ({ sent }) => Number(sent.tickets) === 0 ? [...answer] : [200],
      ...["--filter", "a zero as"],
    );
    expect(found).toMatchObject([{ status: verdict }]);
  },
);

test("the first two logins stand for Alice and Bob, whatever their names are", async () => {
  const made = { parameters: [{ name: "id", in: "path", required: true, schema: text }] };
  const paths = {
    "/orders": { post: { ...json({ note: text }), ...guarded, ...ok } },
    "/orders/{id}": { ...made, get: { ...guarded, ...ok } },
  };
  const found = await run("foreign_record", paths, ({ request }) => {
    return request.headers.authorization ? [200, { id: "o-1", note: "x" }] : [401];
  }, ...["--as", "carol=Authorization: Bearer c", "--as", "dave=Authorization: Bearer d"]);
  expect(found).toMatchObject([{ status: "failed", reason: expect.stringContaining("bob tries") }]);
});

describe("a role that the document offers", () => {
  const role = json({ username: text, role: text });
  const paths = {
    "/profile": { get: { ...guarded, ...ok } },
    "/users/role": { put: { ...role, ...guarded, ...ok } },
  };

  test.each<[string, (role: string) => boolean, string]>([
    ["is taken from everybody", (role) => role === "Employee", "failed"],
    ["is refused", () => false, "passed"],
  ])("%s: %3$s", async (_name, takes, verdict) => {
    let own = "Customer";
    const found = await run("own_role", paths, ({ line, sent, request }) => {
      if (!request.headers.authorization) return [401];
      if (line === "GET /profile") return [200, { username: "ann", role: own }];
      if (sent.role === "Customer") return [200];
      if (sent.username !== "ann" || !takes(String(sent.role))) return [403];
      own = String(sent.role);
      return [200];
    }, ...[...ANN, "--value", "role=Customer"]);
    expect(found).toMatchObject([{ status: verdict }]);
  });

  test("is tried last, because it opens to the user what others must find closed", async () => {
    const roles: unknown[] = [];
    await run("own_role", { ...paths, "/staff": { get: { ...guarded, ...ok } } }, (call) => {
      roles.push(call.line === "PUT /users/role" ? call.sent.role : call.line);
      return [200, { username: "ann", role: "Customer" }];
    }, ...ANN);
    expect(roles.indexOf("Employee")).toBeGreaterThan(roles.lastIndexOf("GET /staff"));
  });
});

describe("numbers that nobody should foresee", () => {
  const paths = { "/payments": { post: { ...json({ note: text }), ...ok } } };
  const now = () => Math.floor(Date.now() / 1_000);

  test.each<[string, (n: number) => object, string]>([
    ["the time", () => ({ reference: `BILL${now()}` }), "failed"],
    ["the time in milliseconds", () => ({ data: { token: String(Date.now()) } }), "failed"],
    ["the one before plus one", (n) => ({ coupon_code: `C-${1_000 + n}` }), "failed"],
    ["drawn", () => ({ reference: crypto.randomUUID(), token: crypto.randomUUID() }), "passed"],
    ["counted as invoices are", (n) => ({ reference: `2026-${n}`, id: n }), "passed"],
    ["the day of creation", () => ({ created_at: now(), reference: "A7" }), "passed"],
  ])("%s: %3$s", async (_name, answer, verdict) => {
    let count = 0;
    const found = await run("foreseen_number", paths, () => [200, answer(count++)]);
    expect(found).toMatchObject([{ status: verdict }]);
  });
});

test("what an address chooses is no record that could be unknown", async () => {
  const inPath = (name: string) => ({
    parameters: [{ name, in: "path", required: true, schema: text }],
    get: { responses: { 200: { description: "" }, 404: { description: "" } } },
  });
  const paths = { "/uptime/{flag}": inPath("flag"), "/things/{thing}": inPath("thing") };
  const found = await run("unknown_id", paths, () => [200]);
  expect(found).toMatchObject([
    { operation: "GET /things/{thing}", status: "failed" },
    { operation: "GET /uptime/{flag}", status: "passed" },
  ]);
});

test("a service that asks for a login which its document does not name is read with one", async () => {
  const paths = { "/card": { get: ok } };
  const found = await run("secrets_shown", paths, ({ request }) => {
    return request.headers.authorization ? [200, { cvv: "123" }] : [401];
  }, ...["--as", "alice=Authorization: Bearer a"]);
  expect(found.map(({ status }: { status: string }) => status).sort()).toEqual([
    "failed",
    "inconclusive",
  ]);
});

test("a service that does one thing at a time is asked for more bytes until it is slow", async () => {
  const search = {
    "/search": { get: { parameters: [{ name: "q", in: "query", schema: text }], ...ok } },
  };
  const asked = new Set<number>();
  const found = await run("sql_injection_by_time", search, async ({ line }) => {
    const bytes = Number(/RANDOMBLOB\((\d+)\)/.exec(decodeURIComponent(line))?.[1] ?? 0);
    if (bytes > 0) asked.add(bytes);
    await new Promise((resolve) => setTimeout(resolve, bytes >= 20_000_000 ? 1_600 : 0));
    return [200, []];
  }, ...["--try", "slow-sql", "--filter", "wait through"]);
  expect(found).toMatchObject([{ status: "failed" }]);
  expect([...asked]).toEqual([10_000_000, 20_000_000]);
});

test("a documented minimum of zero is no finding", async () => {
  const tickets = { type: "integer", minimum: 0 };
  const paths = { "/orders": { post: { ...json({ tickets }), ...ok } } };
  expect(await run("zero_amount", paths, () => [200])).toEqual([]);
});

test("a login by a form tells which users exist", async () => {
  const schema = { type: "object", properties: { username: text, password: text } };
  const form = { requestBody: { content: { "application/x-www-form-urlencoded": { schema } } } };
  const paths = { "/login": { post: { ...form, ...ok } }, "/users": { get: ok } };
  const found = await run("user_enumeration", paths, ({ line, body }) => {
    if (line === "GET /users") return [200, [{ username: "ann" }]];
    return [401, { detail: body.includes("username=ann&") ? "wrong password" : "no such user" }];
  });
  expect(found).toMatchObject([{ status: "failed" }]);
});

test("a field that becomes part of a command line is found", async () => {
  const paths = { "/ping": { post: { ...json({ host: text }, ["host"]), ...ok } } };
  const found = await run("field_command", paths, ({ sent }) => {
    const parts = /expr (\d+) \\\* (\d+)/.exec(String(sent.host));
    return [200, { stdout: parts ? String(Number(parts[1]) * Number(parts[2])) : "" }];
  });
  expect(found).toMatchObject([{ status: "failed" }]);
});

describe("the inside of the service", () => {
  const things = {
    parameters: [{ name: "q", in: "query", schema: text }],
    ...ok,
  };
  const paths = { "/things": { get: things }, "/others": { get: things } };
  const trace = "Error: no\n    at run (/srv/app.js:10:3)\n    at main (/srv/app.js:2:1)";

  async function findings(answer: (line: string) => [number, string]) {
    const { url } = await serve((request, response) => {
      const [status, body] = answer(request.url ?? "");
      response.writeHead(status, { "Content-Type": "text/html" }).end(body);
    });
    const document = { openapi: "3.1.0", info: { title: "x", version: "1" }, paths };
    const argv = ["run", "--target", url, "--output", "json", ...PLAY];
    const { stdout } = await tool(folder({ "openapi.json": document }), ...argv);
    return JSON.parse(stdout).findings;
  }

  test("a stack trace in crashes is one more finding, for the whole target", async () => {
    const found = await findings((line) => line.includes("%27") ? [500, trace] : [200, "[]"]);
    const leaks = found.filter(({ family }: { family: string }) => family === "leaking_message");
    expect(leaks).toMatchObject([{ severity: "medium", cwe: "CWE-209" }]);
    expect(leaks[0].title).toContain("shows a stack trace");
    const crashes = found.filter(({ cwe }: { cwe: string }) => cwe === "CWE-755");
    expect(crashes.length).toBeGreaterThan(0);
  });

  test.each([
    ["a page for developers", "<title>IndexError // Werkzeug Debugger</title>", "debug page"],
    ["a message of SQLite", 'near "x": syntax error', "database error"],
    [
      "Express' page",
      "<pre>Error: no<br> &nbsp; &nbsp;at run (/srv/a.js:1:2)</pre>",
      "stack trace",
    ],
  ])("%s in a refusal is a finding", async (_name, body, words) => {
    const found = await findings((line) => line.includes("%27") ? [400, body] : [200, "[]"]);
    expect(found.map(({ title }: { title: string }) => title).join()).toContain(`shows a ${words}`);
  });
});

test.each([
  [{ PATH: "/bin", HOME: "/root", PWD: "/srv" }, "failed"],
  [{ PATH: "/bin" }, "passed"],
  [{ pwd: "/srv" }, "passed"],
])("an answer with %o: %s", async (answer, verdict) => {
  const found = await run("secrets_shown", { "/debug": { get: ok } }, () => [200, answer]);
  expect(found).toMatchObject([{ status: verdict }]);
});

test("a token for another audience, signed with a guessed key, is refused", async () => {
  const paths = { "/me": { get: { ...guarded, ...ok } } };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const unsigned = `${encode({ alg: "HS256" })}.${encode({ sub: "a", aud: "shop" })}`;
  const token = `${unsigned}.${
    createHmac("sha256", "secret").update(unsigned).digest("base64url")
  }`;
  const login = ["--as", `alice=Authorization: Bearer ${token}`];
  for (const [isChecked, verdict] of [[true, "passed"], [false, "failed"]] as const) {
    const found = await run("forged_token_audience", paths, ({ request }) => {
      const claims = request.headers.authorization?.split(".")[1];
      if (claims === undefined) return [401];
      const { aud } = JSON.parse(Buffer.from(claims, "base64url").toString());
      return [isChecked && aud !== "shop" ? 401 : 200];
    }, ...login);
    expect(found).toMatchObject([{ status: verdict }]);
  }
});

test("a rule for the characters of a password is no injection", async () => {
  const paths = { "/validate": { post: { ...json({ password: text }, ["password"]), ...ok } } };
  const found = await run("sql_injection", paths, ({ sent }) => {
    return [/[^\w]|sample|horse/.test(String(sent.password)) ? 200 : 400];
  });
  expect(found).toMatchObject([{ status: "passed" }]);
});

test("where nobody asks for a login, a wrong one is the same finding", async () => {
  const { url } = await serve((_request, response) => response.end("[]"));
  const document = {
    openapi: "3.1.0",
    info: { title: "x", version: "1" },
    components: bearer,
    paths: { "/orders": { get: { ...guarded, ...ok } }, "/health": { get: { ...guarded, ...ok } } },
  };
  const argv = ["run", "--target", url, "--output", "json"];
  const { stdout } = await tool(folder({ "openapi.json": document }), ...argv);
  const found = JSON.parse(stdout).findings.filter(({ family }: { family: string }) =>
    family.startsWith("auth_")
  );
  expect(found).toMatchObject([{ family: "auth_missing", operation: "GET /orders" }]);
  expect(found[0].also).toHaveLength(2);
});

describe("--try slow-pattern", () => {
  const paths = { "/mails": { post: { ...json({ mail: text }), ...ok } } };
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test.each<[string, (mail: string) => number, string]>([
    ["tries every way to split it", (mail) => /^a{23,}!$/.test(mail) ? 1_600 : 0, "failed"],
    ["is slow for short ones too", () => 1_600, "inconclusive"],
    ["reads it once", () => 0, "passed"],
  ])("a text that almost matches, where the service %s: %3$s", async (_name, delay, verdict) => {
    const found = await run("slow_pattern", paths, async ({ sent }) => {
      await wait(delay(String(sent.mail)));
      return /!$/.test(String(sent.mail)) ? [400] : [200];
    }, ...["--try", "slow-pattern", "--filter", "busy with"]);
    expect(found).toMatchObject([{ status: verdict }]);
    const [{ reason }] = found;
    if (verdict === "failed") expect(reason).toContain("a pattern tries every way to split");
  });
});

describe("--try login-limit and codes", () => {
  const pin = { type: "string", pattern: "^\\d{4}$" };
  const paths = {
    "/forgot-password": { post: { ...json({ username: text }), ...ok } },
    "/reset-password": { post: { ...json({ username: text, pin, password: text }), ...ok } },
  };

  test.each<[string, (n: number) => Answer, string]>([
    ["that is never limited", () => [400, { error: "Invalid reset PIN" }], "failed"],
    ["that ends after three", (n) => [n > 3 ? 429 : 400, { error: "Invalid PIN" }], "passed"],
    ["of another form", () => [400, { error: "pin must have 6 digits" }], "inconclusive"],
    ["that always fits", () => [200], "inconclusive"],
  ])("a code %s: %3$s", async (_name, answer, verdict) => {
    const codes: unknown[] = [];
    let asked = 0;
    const found = await run("code_limit", paths, ({ line, sent }) => {
      if (line.endsWith("forgot-password")) {
        asked++;
        return [200];
      }
      codes.push(sent.pin);
      if (sent.pin !== "0000") return [200];
      return answer(codes.filter((code) => code === "0000").length);
    }, ...["--try", "login-limit", "--filter", "wrong codes"]);
    expect(found).toMatchObject([{ status: verdict, operation: "POST /reset-password" }]);
    expect(asked).toBeGreaterThan(0);
    expect(codes.filter((code) => code === "0000").length).toBeLessThanOrEqual(20);
  });
});

describe("addresses of the server's own machine", () => {
  const url = { type: "string", format: "uri" };
  const paths = {
    "/import": { post: { ...json({ image_url: url }, ["image_url"]), ...ok } },
    "/preview": { get: { parameters: [{ name: "url", in: "query", schema: url }], ...ok } },
  };
  const LISTENER = /^http:\/\/127\.0\.0\.1:\d+\/called$/;

  const CASES: [string, (address: string) => Promise<Answer>, string][] = [
    ["opens every address", async (address) => {
      if (!LISTENER.test(address)) return [502];
      return [200, { text: await (await fetch(address)).text() }];
    }, "failed"],
    ["opens it after its answer", (address) => {
      if (LISTENER.test(address)) setTimeout(() => void fetch(address), 50);
      return Promise.resolve([202]);
    }, "failed"],
    ["refuses it", (address) => Promise.resolve([LISTENER.test(address) ? 400 : 200]), "passed"],
    ["never opens one", () => Promise.resolve([200]), "passed"],
    ["refuses every address", () => Promise.resolve([400]), "inconclusive"],
  ];
  test.each(CASES)("a service that %s: %3$s", async (_name, open, verdict) => {
    const found = await run("call_back", paths, ({ line, sent }) => {
      const inQuery = new URL(line.split(" ")[1]!, "http://x").searchParams.get("url");
      return open(String(sent.image_url ?? inQuery));
    }, ...["--filter", "its own machine"]);
    expect(found).toMatchObject([
      { status: verdict, operation: "POST /import" },
      { status: verdict, operation: "GET /preview" },
    ]);
  });
});

test.each([["takes it", 200, "failed"], ["refuses it", 422, "passed"]] as const)(
  "a payment to nobody where the service %s: %3$s",
  async (_name, status, verdict) => {
    const body = json({
      to_account: { ...text, example: "1234567890" },
      amount: { type: "number" },
    });
    const paths = { "/transfer": { post: { ...body, ...ok } } };
    const found = await run(
      "unknown_recipient",
      paths,
      ({ sent }) => sent.to_account === "1234567890" ? [200] : [status],
      ...["--filter", "does not exist with"],
    );
    expect(found).toMatchObject([{ status: verdict }]);
  },
);

test.each([["takes it", 200, "failed"], ["refuses it", 422, "passed"]] as const)(
  "a card with a limit below zero where the service %s: %3$s",
  async (_name, status, verdict) => {
    const paths = { "/cards": { post: { ...json({ card_limit: { type: "number" } }), ...ok } } };
    const found = await run(
      "negative_amount",
      paths,
      ({ sent }) => Number(sent.card_limit) < 0 ? [status] : [200],
      ...["--filter", "a negative"],
    );
    expect(found).toMatchObject([{ status: verdict }]);
  },
);

test.each(["to", "iban", "recipient"])("a payment with %s may leave the service", async (name) => {
  const body = json({ [name]: { ...text, example: "ann" }, amount: { type: "number" } });
  const paths = { "/transfer": { post: { ...body, ...ok } } };
  expect(await run("unknown_recipient", paths, () => [200])).toEqual([]);
});

describe("deleting what one may not change", () => {
  const id = { parameters: [{ name: "id", in: "path", required: true, schema: text }] };
  const paths = {
    "/menu": { get: ok, post: { ...json({ title: text }), ...guarded, ...ok } },
    "/menu/{id}": {
      ...id,
      put: { ...json({ title: text }), ...guarded, ...ok },
      delete: { ...guarded, ...ok },
    },
  };

  test.each<[string, { put: number; delete: number; later?: number }, string[]]>([
    ["only the deletion is open", { put: 403, delete: 204 }, ["failed"]],
    ["both are open", { put: 200, delete: 204 }, []],
    ["the deletion is refused later", { put: 403, delete: 204, later: 403 }, ["passed"]],
    ["nothing is left to delete", { put: 403, delete: 204, later: 404 }, ["inconclusive"]],
    ["the change is refused for its form", { put: 422, delete: 204 }, ["inconclusive"]],
  ])("where %s: %3$j", async (_name, statuses, verdicts) => {
    let deleted = 0;
    const found = await run("uneven_rights", paths, ({ line, request }) => {
      if (request.headers.authorization === undefined && !line.startsWith("GET")) return [401];
      if (line.startsWith("GET")) return [200, [{ id: "m1" }, { id: "m2" }]];
      if (line.startsWith("POST")) return [403];
      if (line.startsWith("PUT")) return [statuses.put];
      return [++deleted > 1 ? statuses.later ?? statuses.delete : statuses.delete];
    }, ...["--as", "alice=Authorization: Bearer x", "--filter", "may not change"]);
    expect(found.map(({ status }: { status: string }) => status)).toEqual(verdicts);
  });
});

describe("forms with files", () => {
  const schema = {
    type: "object",
    properties: { profile_picture: { type: "string", format: "binary" }, note: text },
  };
  const requestBody = { required: true, content: { "multipart/form-data": { schema } } };
  const paths = { "/picture": { post: { requestBody, ...ok } } };
  const partsOf = async (body: string, type: string) =>
    await new Response(body, { headers: { "Content-Type": type } }).formData();

  test.each([["takes it", 200, "failed"], ["refuses it", 415, "passed"]] as const)(
    "a page in the place of a picture where the service %s: %3$s",
    async (_name, status, verdict) => {
      const types = new Set<string>();
      const found = await run("page_as_picture", paths, async ({ body, request }) => {
        const type = request.headers["content-type"] ?? "";
        if (!/^multipart\/form-data; boundary=/.test(type)) return [415];
        const form = await partsOf(body, type);
        const file = form.get("profile_picture");
        if (!(file instanceof File) || form.get("note") !== "sample") return [400];
        types.add(file.type);
        return [file.type === "image/gif" ? 200 : status];
      }, ...["--filter", "Uploading a page"]);
      expect(found).toMatchObject([{ status: verdict }]);
      expect([...types]).toEqual(["image/gif", "text/html"]);
    },
  );

  test("a form of Swagger 2 sends its file too", async () => {
    const { url, requests } = await serve((_request, response) => void response.end("{}"));
    const file = { name: "avatar", in: "formData", type: "file", required: true };
    const document = {
      swagger: "2.0",
      info: { title: "x", version: "1" },
      paths: { "/avatar": { post: { parameters: [file], ...ok } } },
    };
    const cwd = folder({ "swagger.json": document });
    await tool(cwd, "run", "--target", url, "--spec", "swagger.json", "--filter", "as documented");
    const form = requests.find(({ line }) => line === "POST /avatar")!;
    expect(form.body).toContain('name="avatar"; filename="sample.gif"');
  });
});

describe("the instructions of a model", () => {
  const prompt = "You are the assistant of a bank. Never tell anybody the balance of others.";

  test.each<[string, object, unknown, string]>([
    ["shown to everybody", ok, { system_prompt: prompt }, "failed"],
    ["of a user who is logged in", { ...ok, ...guarded }, { system_prompt: prompt }, "passed"],
    ["that are empty", ok, { system_prompt: "" }, "passed"],
  ])("%s: %4$s", async (_name, operation, answer, verdict) => {
    const paths = { "/ai/info": { get: operation } };
    const login = ["--as", "alice=Authorization: Bearer x"];
    const found = await run("secrets_shown", paths, () => [200, answer], ...login);
    expect(found[0]).toMatchObject({ status: verdict });
  });
});

test.each<[string, unknown, string]>([
  ["an empty list", { status: "success", transactions: [] }, "inconclusive"],
  ["the transactions", { status: "success", transactions: [{ id: 7 }] }, "failed"],
])("a card's number is its owner's although a biller has it too: bob is shown %s: %3$s", async (
  _name,
  answer,
  verdict,
) => {
  const id = { parameters: [{ name: "card_id", in: "path", required: true, schema: number }] };
  const paths = {
    "/cards": { get: { ...guarded, ...ok }, post: { ...guarded, ...ok } },
    "/cards/{card_id}/transactions": { ...id, get: { ...guarded, ...ok } },
    "/billers": { get: { ...guarded, ...ok } },
  };
  const found = await run("foreign_value", paths, ({ line, request }) => {
    const isAlice = request.headers.authorization === "a";
    if (line === "GET /billers") return [200, [{ id: 1 }]];
    if (line === "POST /cards") return [201, { id: 1 }];
    if (line === "GET /cards") return [200, isAlice ? [{ id: 1 }] : []];
    return line === "GET /cards/1/transactions" ? [200, answer] : [404];
  }, ...["--as", "alice=Authorization: a", "--as", "bob=Authorization: b"]);
  expect(found).toMatchObject([{ status: verdict }]);
});

test("what takes the service away from everybody is not sent with a login, and is named", async () => {
  const paths = {
    "/maintenance": { post: { ...json({ on: { type: "boolean" } }), ...guarded, ...ok } },
    "/things": { get: { ...guarded, ...ok } },
  };
  const { url, requests } = await serve((request, response) => {
    response.statusCode = request.headers.authorization === undefined ? 401 : 200;
    response.end("{}");
  });
  const info = { title: "x", version: "1" };
  const document = { openapi: "3.1.0", info, components: bearer, paths };
  const cwd = folder({ "openapi.json": document });
  const login = ["--as", "alice=Authorization: Bearer x"];
  const { stdout } = await tool(cwd, "run", "--target", url, "--output", "json", ...login);
  const sent = requests.filter(({ line }) => line === "POST /maintenance");
  expect(sent.length).toBeGreaterThan(0);
  expect(sent.some(({ headers }) => headers.includes("Bearer x"))).toBe(false);
  expect(JSON.parse(stdout).summary.untested).toMatchObject([
    { operation: "POST /maintenance", reason: expect.stringContaining("was not sent") },
  ]);
});
