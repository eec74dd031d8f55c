import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { folder, serve, tool } from "./harness.ts";

const answers = (...statuses: number[]) => ({
  responses: Object.fromEntries(statuses.map((status) => [status, { description: "" }])),
});
const inPath = (name: string) => ({
  parameters: [{ name, in: "path", required: true, schema: { type: "string" } }],
});
const body = (properties: object, required: string[] = []) => ({
  requestBody: {
    content: { "application/json": { schema: { type: "object", required, properties } } },
  },
});
const text = { type: "string" };
const documentOf = (paths: object) => ({
  openapi: "3.1.0",
  info: { title: "x", version: "1" },
  components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
  paths,
});

type Answer = [number, unknown?];
type Handler = (line: string, body: Record<string, string>, who: string) => Answer;

/** Runs the tool on a server. Returns the executions by operation and family. */
async function run(paths: object, handler: Handler, ...argv: string[]) {
  const { url, requests } = await serve(
    (request: IncomingMessage, response: ServerResponse, sent) => {
      const [status, value = {}] = handler(
        `${request.method} ${request.url}`,
        parse(sent),
        request.headers.authorization ?? "",
      );
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    },
  );
  const cwd = folder({ "openapi.json": documentOf(paths) });
  const args = ["run", "--target", url, "--output", "json", ...argv];
  const { code, stdout, stderr } = await tool(cwd, ...args);
  const { scenarios, executions, summary } = JSON.parse(stdout || "{}");
  const of = (operation: string, family: string) => {
    const at = scenarios.findIndex((one: { operation: string; family: string }) =>
      one.operation === operation && one.family === family
    );
    return { ...scenarios[at], ...executions[at] };
  };
  return {
    code,
    stderr,
    of,
    scenarios,
    executions,
    summary,
    lines: requests.map(({ line }) => line),
  };
}

function parse(sent: string): Record<string, string> {
  try {
    return JSON.parse(sent) ?? {};
  } catch {
    return {};
  }
}

describe("the value of a path parameter", () => {
  const item = (path: string) => ({ [path]: { ...inPath("id"), get: answers(200, 404) } });
  const only = (path: string): Handler => (line) => line === `GET ${path}` ? [200, {}] : [404];

  test.each<[string, object, Handler]>([
    [
      "is the id of a listed record",
      { "/things": { get: answers(200) }, ...item("/things/{id}") },
      (
        line,
      ) =>
        line === "GET /things"
          ? [200, { page: { items: [{ id: "t-77", name: "x" }] } }]
          : only("/things/t-77")(line, {}, ""),
    ],
    [
      "is the id of a record made by /create",
      {
        "/things/create": { post: { ...body({ size: text }), ...answers(201) } },
        ...item("/things/{id}"),
      },
      (line) =>
        line === "POST /things/create"
          ? [201, { status: "ok", details: { thing: { id: "t-78" } } }]
          : only("/things/t-78")(line, {}, ""),
    ],
    [
      "is the field of that name",
      {
        "/books": { post: { ...body({ book_title: text }, ["book_title"]), ...answers(201) } },
        "/books/{bookTitle}": { ...inPath("bookTitle"), get: answers(200) },
      },
      (() => {
        const titles = new Set<string>();
        return (line, { book_title }) => {
          if (line === "POST /books") return titles.add(book_title!) && [201, { message: "ok" }];
          return titles.has(line.split("/").at(-1)!) ? [200] : [404];
        };
      })(),
    ],
  ])("%s", async (_name, paths, handler) => {
    const { of } = await run(paths, handler);
    const operation = Object.keys(paths).find((path) => path.includes("{"))!;
    expect(of(`GET ${operation}`, "good_case")).toMatchObject({
      status: "passed",
      reason: "Answered 200",
    });
  });

  test("may be text with half of a character, which a server keeps", async () => {
    const paths = { "/things": { get: answers(200) }, ...item("/things/{id}") };
    const { code, of } = await run(
      paths,
      (line) =>
        line === "GET /things"
          ? [200, [{ id: "half\ud800" }]]
          : line === "GET /things/half%EF%BF%BD"
          ? [200, {}]
          : [404],
    );
    expect(code).not.toBe(3);
    expect(of("GET /things/{id}", "good_case").reason).toBe("Answered 200");
  });

  test("is the claim of a login, and --as-value and --value win over it", async () => {
    const token = `e30.${Buffer.from('{"sub":"name1","user_id":5}').toString("base64url")}.x`;
    const jwt = `eyJhbGciOiJIUzI1NiJ9.${token.split(".")[1]}.c2ln`;
    const paths = {
      "/users/{username}": { ...inPath("username"), get: answers(200) },
      "/accounts/{account}": { ...inPath("account"), get: answers(200) },
      "/shops/{shop}": { ...inPath("shop"), get: answers(200) },
    };
    const known = ["GET /users/name1", "GET /accounts/A-9", "GET /shops/3"];
    const { of, lines } = await run(
      paths,
      (line) => known.includes(line) ? [200] : [404],
      ...["--as", `alice=Authorization: Bearer ${jwt}`],
      ...["--as-value", "alice.account=A-9", "--value", "shop=3"],
    );
    for (const path of Object.keys(paths)) {
      expect(of(`GET ${path}`, "good_case").reason).toBe("Answered 200");
    }
    expect(lines).toEqual(expect.arrayContaining(known));
  });

  test.each(["--value=x", "--value==1", "--as-value=alice=1", "--as-value=alice.x"])(
    "%s is refused with the form it needs",
    async (flag) => {
      const { code, stderr } = await tool(folder(), "run", flag);
      expect(code).toBe(3);
      expect(stderr).toContain("must look like");
    },
  );
});

describe("the body of a good case", () => {
  test("has new names each time, so that it does not collide with its own records", async () => {
    const taken = new Set<string>();
    const paths = {
      "/users": {
        post: {
          ...body({ username: text, email: { ...text, format: "email" } }),
          ...answers(201, 400),
        },
      },
    };
    const { of } = await run(paths, (line, { username }) => {
      if (!line.startsWith("POST /users") || !username || taken.has(username)) return [400];
      taken.add(username);
      return [201, { id: taken.size }];
    });
    expect(of("POST /users", "good_case").reason).toBe("Answered 201");
    expect(taken.size).toBeGreaterThan(2);
    expect(of("POST /users", "good_case").exec.body).toContain("{{uniq}}");
  });

  test("holds the required fields alone where the whole sample is refused", async () => {
    const paths = {
      "/orders": { post: { ...body({ size: text, coupon: text }, ["size"]), ...answers(201) } },
    };
    const { of } = await run(
      paths,
      (line, sent) => line === "POST /orders" && !("coupon" in sent) ? [201] : [400],
    );
    expect(of("POST /orders", "good_case")).toMatchObject({
      reason: "Answered 201",
      exec: { body: '{"size":"sample"}' },
    });
  });

  test("holds the ids that earlier answers named", async () => {
    const paths = {
      "/menu": { get: answers(200) },
      "/orders": { post: { ...body({ menu_item_id: { type: "integer" } }), ...answers(201) } },
    };
    const { of } = await run(paths, (line, { menu_item_id }) => {
      if (line === "GET /menu") return [200, [{ menu_item_id: 4711 }]];
      return Number(menu_item_id) === 4711 ? [201] : [404];
    });
    expect(of("POST /orders", "good_case").exec.body).toBe('{"menu_item_id":4711}');
  });
});

describe("an operation that never succeeded", () => {
  const paths = { "/orders/{server_id}": { ...inPath("server_id"), get: answers(200, 404) } };

  test("passes nothing, is named once and leaves the percentages", async () => {
    const { executions, summary } = await run(paths, () => [404, { message: "no such server" }]);
    const statuses = executions.map(({ status }: { status: string }) => status);
    expect(new Set(statuses)).toEqual(new Set(["inconclusive", "skipped"]));
    expect(summary.untested).toEqual([{
      operation: "GET /orders/{server_id}",
      reason: 'GET /orders/{server_id} answered 404 for server_id=sample "no such server"; ' +
        "give --value server_id=…",
    }]);
    expect(summary.areas).toEqual([]);
  });

  test("still fails where it crashes", async () => {
    const { executions } = await run(paths, (line) => line.includes("%") ? [500] : [404]);
    const statuses = executions.map(({ status }: { status: string }) => status);
    expect(statuses).toContain("failed");
    expect(statuses).not.toContain("passed");
  });

  test("the text names it once, with the next step", async () => {
    const { url } = await serve((_request, response) => response.writeHead(404).end());
    const { stdout } = await tool(
      folder({ "openapi.json": documentOf(paths) }),
      ...["run", "--target", url],
    );
    expect(stdout.match(/GET \/orders\/\{server_id\} answered 404/g)).toHaveLength(1);
    expect(stdout).toContain("give --value server_id=…");
  });
});

test("a GET that resets the data runs after everything that needs the data", async () => {
  let there = true;
  const paths = {
    "/createdb": { get: answers(200) },
    "/things": { get: answers(200) },
    "/zones": { get: answers(200) },
  };
  const { of, lines } = await run(paths, (line) => {
    if (line.startsWith("GET /createdb")) there = false;
    return there ? [200, []] : line.startsWith("GET /createdb") ? [200] : [500];
  });
  // The rehearsal resets the data too, as its last request.
  expect(lines.indexOf("GET /createdb")).toBeGreaterThan(lines.indexOf("GET /zones"));
  expect(of("GET /createdb", "good_case").changes).toBe(true);
});

test("a GET that resets the data runs after the bodies that strain the target", async () => {
  const thing = { "application/json": { schema: { type: "object", properties: { note: text } } } };
  const paths = {
    "/createdb": { get: answers(200) },
    "/things": { post: { requestBody: { content: thing }, ...answers(200) } },
  };
  const { lines } = await run(
    paths,
    (line) => [200, line.startsWith("GET") ? { message: "Database populated." } : {}],
  );
  expect(lines.lastIndexOf("GET /createdb")).toBeGreaterThan(lines.lastIndexOf("POST /things"));
});

test("--as-documented sends nothing before the run", async () => {
  const paths = { "/things": { get: answers(200) } };
  const filter = ["--filter", "as documented", "--as-documented"];
  const { lines } = await run(paths, () => [200, []], ...filter);
  expect(lines).toEqual(["GET /things"]);
});

test("a deletion gets a record of its own, and the others keep theirs", async () => {
  const records = new Map<number, object>();
  let last = 0;
  const thing = { "application/json": { schema: { type: "object", properties: { note: text } } } };
  const paths = {
    "/things": { get: answers(200), post: { requestBody: { content: thing }, ...answers(201) } },
    "/things/{id}": {
      ...inPath("id"),
      get: answers(200, 404),
      delete: answers(204, 404),
    },
  };
  const { executions, scenarios } = await run(paths, (line) => {
    const id = Number(line.split("/")[2]);
    if (line.startsWith("POST")) {
      records.set(++last, { id: last });
      return [201, { id: last }];
    }
    if (line === "GET /things") return [200, [...records.values()]];
    if (!records.has(id)) return [404];
    if (line.startsWith("DELETE")) records.delete(id);
    return [line.startsWith("DELETE") ? 204 : 200, { id }];
  });
  const good = executions.filter((_one: unknown, n: number) => scenarios[n].family === "good_case");
  const statuses = good.map(({ status }: { status: string }) => status);
  expect(statuses).toEqual(["passed", "passed", "passed", "passed"]);
});

test("the operation that ends the login is named, and what follows is not tested", async () => {
  const guarded = { security: [{ key: [] }], ...answers(200, 401) };
  const paths = {
    "/me": { get: guarded },
    "/rooms": { post: guarded },
    "/rooms/{id}": { ...inPath("id"), put: guarded },
  };
  let isOver = false;
  const login = ["--as", "alice=Authorization: Bearer a"];
  const { summary } = await run(paths, (line) => {
    if (line.startsWith("POST /rooms")) isOver = true;
    return [isOver && !line.startsWith("POST /rooms") ? 401 : 200];
  }, ...login);
  const reason = summary.untested.find(({ operation }: { operation: string }) =>
    operation === "PUT /rooms/{id}"
  )?.reason;
  expect(reason).toBe(
    "PUT /rooms/{id} was not sent: POST /rooms had ended the login of alice; " +
      "give a new login, and leave it out",
  );
});

test("a given value reaches the members of a nested body, and a given parameter is not asked for", async () => {
  const zone = {
    type: "object",
    properties: {
      name: text,
      records: { type: "array", items: { required: ["name"], properties: { name: text } } },
    },
  };
  const paths = {
    "/servers/{server_id}/zones": {
      ...inPath("server_id"),
      post: {
        requestBody: { content: { "application/json": { schema: zone } } },
        ...answers(201, 422),
      },
    },
    "/servers/{server_id}/zones/{zone_id}": {
      parameters: [...inPath("server_id").parameters, ...inPath("zone_id").parameters],
      put: answers(200, 404),
    },
  };
  const { summary } = await run(
    paths,
    (line, sent) => {
      if (!line.startsWith("POST /servers/local/zones")) return [404];
      const { records } = sent as unknown as { records: { name: string }[] };
      return sent.name === "a.example." && records[0]!.name === "a.example." ? [201] : [422];
    },
    ...["--value", "server_id=local", "--value", "name=a.example."],
  );
  expect(summary.untested).toMatchObject([
    {
      operation: "PUT /servers/{server_id}/zones/{zone_id}",
      reason: expect.stringContaining("give --value zone_id="),
    },
  ]);
});

test("of two parameters, the one without a known value is asked for, with the best of the other", async () => {
  const two = {
    parameters: [...inPath("server_id").parameters, ...inPath("zone_id").parameters],
  };
  const paths = {
    "/servers": { get: answers(200) },
    "/servers/{server_id}/zones/{zone_id}": { ...two, get: answers(200, 404) },
  };
  const { summary } = await run(
    paths,
    (line) => line === "GET /servers" ? [200, [{ id: "localhost" }]] : [404],
  );
  expect(summary.untested).toMatchObject([{
    reason: expect.stringMatching(
      /answered 404 for server_id=localhost, .*; give --value zone_id=…/,
    ),
  }]);
});

test.each(["password", "^password$", "^(password|refresh)$"])(
  "a field with the pattern %s gets the word that it names",
  async (pattern) => {
    const paths = {
      "/token": { post: { ...body({ grant_type: { type: "string", pattern } }), ...answers(200) } },
    };
    const { of } = await run(paths, (_line, sent) => [sent.grant_type === "password" ? 200 : 422]);
    expect(of("POST /token", "good_case")).toMatchObject({ status: "passed" });
  },
);
