import { describe, expect, test } from "vitest";
import { operationsOf } from "../../../cli/scenario/generate/documents.ts";
import { generateScenarios } from "../../../cli/scenario/generate/generate.ts";
import { folder, serve, tool } from "./harness.ts";
import { DOCUMENT } from "./seeded/document.ts";

const security = [{ bearer: [] }];
const components = { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } };
const answers = (...statuses: number[]) => ({
  responses: Object.fromEntries(statuses.map((status) => [status, { description: "" }])),
});
const id = [{ name: "id", in: "path", required: true, schema: { type: "integer" } }];

type Respond = (line: string, who: string, seen: string[]) => number | [number, object];

/** Runs the document against a server as alice and bob. Returns the status of the family. */
async function verdict(
  document: object,
  family: string,
  respond: Respond,
  depth = "normal",
): Promise<string> {
  const seen: string[] = [];
  const { url } = await serve((request, response) => {
    const line = `${request.method} ${request.url}`;
    const who = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const answered = respond(line, who, seen);
    seen.push(line);
    const [status, body] = typeof answered === "number" ? [answered, {}] : answered;
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  });
  const { stdout } = await tool(
    folder({ "spec.json": document }),
    ...["run", "--target", url, "--spec", "spec.json", "--depth", depth, "--output", "json"],
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
    // Each case judges one answer alone, without the good cases that prove it.
    "--as-documented",
  );
  const { scenarios, executions } = JSON.parse(stdout);
  const at = scenarios.findIndex((one: { family: string }) => one.family === family);
  return executions[at].status;
}

const secured = (paths: object) => ({ openapi: "3.1.0", security, components, paths });
const admin = secured({ "/admin/users": { get: answers(200) } });
const notes = secured({
  "/notes": { post: answers(201) },
  "/notes/{id}": { parameters: id, get: answers(200, 404) },
});
const making = (bob: (line: string) => number): Respond => (line, who) =>
  line.startsWith("POST") ? [201, { id: 7 }] : who === "bob" ? bob(line) : 200;
const content = {
  "application/json": {
    schema: { type: "object", required: ["text"], properties: { text: { type: "string" } } },
  },
};
const requestBody = { required: true, content };
const texts = secured({
  "/texts": { post: { requestBody, ...answers(201) } },
  "/texts/{id}": {
    parameters: id,
    get: answers(200, 404),
    put: { requestBody, ...answers(200, 400, 404) },
    delete: answers(204),
  },
});
/** A service with one record, id 7, that answers `odd` to a PUT. */
const updating = (odd: number): Respond => (line) => {
  if (line.startsWith("POST")) return [201, { id: 7 }];
  if (!line.endsWith("/7")) return 404;
  return line.startsWith("PUT") ? odd : 200;
};
const har = {
  log: {
    entries: ["POST", "GET"].map((method) => ({
      request: { method, url: "https://shop.example/cart", headers: [], queryString: [] },
      response: { status: 200 },
    })),
  },
};

const documenting = (...statuses: number[]) => ({
  openapi: "3.1.0",
  paths: { "/texts": { post: { requestBody, ...answers(201, ...statuses) } } },
});

describe("invalid input must get a 4xx, if the document names a refusal", () => {
  test.each<[string, number[], number, string]>([
    ["the documented status passes", [422], 422, "passed"],
    ["another 4xx status passes", [422], 400, "passed"],
    ["one of two documented statuses passes", [400, 422], 400, "passed"],
    ["success fails", [422], 201, "failed"],
    ["success fails if two refusals are documented", [400, 422], 201, "failed"],
    ["success passes if no refusal is documented", [], 201, "passed"],
    ["500 fails", [422], 500, "failed"],
  ])("%s", async (_name, documented, status, expected) => {
    for (const family of ["body_malformed", "body_empty", "field_missing", "field_type"]) {
      expect(await verdict(documenting(...documented), family, () => status)).toBe(expected);
    }
  });
});

describe("an unknown id must get 404, or the documented 400 or 422 if it breaks the documented rules", () => {
  const reading = (schema: object, ...statuses: number[]) => ({
    openapi: "3.1.0",
    paths: {
      "/orders/{id}": {
        parameters: [{ name: "id", in: "path", required: true, schema }],
        get: answers(...statuses),
      },
    },
  });
  const order = { type: "string", pattern: "^ord_[a-z]{10}$" };
  test.each<[string, object, number, string]>([
    ["404 passes", reading(order, 200, 404, 400), 404, "passed"],
    ["a documented 400 passes", reading(order, 200, 404, 400), 400, "passed"],
    ["a documented 422 passes", reading(order, 200, 404, 422), 422, "passed"],
    [
      "a documented 400 passes for a format",
      reading({ type: "string", format: "date" }, 200, 404, 400),
      400,
      "passed",
    ],
    [
      "a documented 400 passes for a length",
      reading({ type: "string", maxLength: 5 }, 200, 404, 400),
      400,
      "passed",
    ],
    [
      "a documented 400 passes for a range",
      reading({ type: "integer", maximum: 99 }, 200, 404, 400),
      400,
      "passed",
    ],
    [
      "a documented 400 passes for a pattern that backtracks for hours",
      reading({ type: "string", pattern: "^((([a-z-]+)+)+)+!$" }, 200, 404, 400),
      400,
      "passed",
    ],
    ["200 fails", reading(order, 200, 404, 400), 200, "failed"],
    ["403 fails", reading(order, 200, 404, 400), 403, "failed"],
    ["500 fails", reading(order, 200, 404, 400), 500, "failed"],
    ["an undocumented 400 fails", reading(order, 200, 404), 400, "failed"],
    [
      "400 fails if the id matches its pattern",
      reading({ type: "string", pattern: "^[a-z-]+$" }, 200, 404, 400),
      400,
      "failed",
    ],
    ["400 fails if the id has no rules", reading({ type: "string" }, 200, 404, 400), 400, "failed"],
    [
      "400 fails if the id is a UUID",
      reading({ type: "string", format: "uuid" }, 200, 404, 400),
      400,
      "failed",
    ],
  ])("%s", async (_name, document, status, expected) => {
    expect(await verdict(document, "unknown_id", () => status)).toBe(expected);
  });

  test("admin_only decides nothing by a 400 for an invalid id", async () => {
    const parameters = [{ name: "id", in: "path", required: true, schema: order }];
    const document = (...statuses: number[]) =>
      secured({ "/admin/orders/{id}": { parameters, get: answers(200, ...statuses) } });
    expect(await verdict(document(400), "admin_only", () => 400)).toBe("inconclusive");
    expect(await verdict(document(), "admin_only", () => 400)).toBe("inconclusive");
  });

  test("existence_leak is generated only with an id that the document allows", () => {
    const leaks = (schema: object) => {
      const parameters = [{ name: "id", in: "path", required: true, schema }];
      const document = secured({
        "/notes": { post: answers(201) },
        "/notes/{id}": { parameters, get: answers(200, 400, 404) },
      });
      return generateScenarios(operationsOf(JSON.stringify(document), "x"), { depth: "normal" })
        .filter(({ family }) => family === "existence_leak")
        .map((one) => (one.playbook as { steps: { path: string }[] }).steps.at(-1)!.path);
    };
    expect(leaks(order)).toEqual([]);
    expect(leaks({ type: "string", pattern: "^[a-z-]+$" })).toEqual(["/notes/no-such-thing"]);
    expect(leaks({ type: "integer" })).toEqual(["/notes/2147483646"]);
  });
});

describe("families of several requests", () => {
  test.each<[string, object, string, Respond, string]>([
    ["admin_only: a refusal passes", admin, "admin_only", () => 403, "passed"],
    ["admin_only: a success fails", admin, "admin_only", () => 200, "failed"],
    [
      "existence_leak: the same refusal for all ids passes",
      notes,
      "existence_leak",
      making(() => 404),
      "passed",
    ],
    [
      "existence_leak: 403 only for existing ids fails",
      notes,
      "existence_leak",
      making((line) => line.endsWith("/7") ? 403 : 404),
      "failed",
    ],
    [
      "existence_leak: a readable record is inconclusive",
      notes,
      "existence_leak",
      making(() => 200),
      "inconclusive",
    ],
    ["odd_updates: a refusal passes", texts, "odd_updates", updating(400), "passed"],
    ["odd_updates: a success fails", texts, "odd_updates", updating(200), "failed"],
    [
      "odd_updates: a crash on an existing record fails",
      texts,
      "odd_updates",
      updating(500),
      "failed",
    ],
    [
      "privileged_create: a record that keeps the sent role fails",
      texts,
      "privileged_create",
      (line, _who, seen) => {
        const count = seen.filter((one) => one.startsWith("POST")).length;
        if (line.startsWith("POST")) return [201, { id: count }];
        return [200, count % 2 === 0 ? { role: "admin" } : { role: "user" }];
      },
      "failed",
    ],
    ["recorded_visit: a repeatable visit passes", har, "recorded_visit", () => 200, "passed"],
    [
      "recorded_visit: a visit that crashes when repeated fails",
      har,
      "recorded_visit",
      (line, _who, seen) => line.startsWith("POST") && seen.includes(line) ? 500 : 200,
      "failed",
    ],
  ])("%s", async (_name, document, family, respond, expected) => {
    expect(await verdict(document, family, respond)).toBe(expected);
  });
});

describe("the shop's document", () => {
  const generate = (depth: "light" | "normal" | "aggressive", budget?: number) =>
    generateScenarios(operationsOf(JSON.stringify(DOCUMENT), "x"), { depth, budget });

  /** The families for HTTP with their priorities; help.test.ts covers those for command lines. */
  test.each([
    ["double_submit", ["critical", "high"]],
    ["double_action", ["critical"]],
    ["same_twice", ["critical"]],
    ["same_key_twice", ["critical"]],
    ["auth_missing", ["critical"]],
    ["auth_garbage", ["critical"]],
    ["stale_token", ["critical"]],
    ["foreign_record", ["critical"]],
    ["foreign_list", ["critical"]],
    ["mass_assignment", ["critical"]],
    ["use_after_delete", ["high"]],
    ["failed_write", ["high"]],
    ["put_twice", ["medium"]],
    ["lost_update", ["critical"]],
    ["pagination", ["high"]],
    ["unknown_record", ["high"]],
    ["number_negative", ["medium"]],
    ["field_huge", ["high"]],
    ["field_negative", ["high"]],
    ["percent_broken", ["medium"]],
    ["body_deep", ["high"]],
    ["body_content_type", ["medium"]],
    ["body_charset", ["low"]],
    ["header_range", ["low"]],
    ["query_twice", ["medium"]],
    ["text_nul", ["medium"]],
    ["field_surrogate", ["medium"]],
    ["body_malformed", ["medium"]],
    ["body_large", ["medium"]],
    ["method_unsupported", ["low"]],
    ["method_unlisted", ["medium"]],
    ["text_traversal", ["high"]],
    ["text_template", ["high"]],
    ["text_command", ["high"]],
    ["text_quote", ["high"]],
    ["text_crlf", ["high"]],
    ["existence_leak", ["low"]],
  ])(
    "the family %s is generated with priority %j in the operation's area",
    (family, priorities) => {
      const found = generate("aggressive").filter((one) => one.family === family);
      expect(found.length).toBeGreaterThan(0);
      expect(priorities).toEqual(
        expect.arrayContaining([...new Set(found.map((one) => one.priority))]),
      );
      for (const { confidence_area, operation } of found) {
        expect(String(operation)).toContain(`/${confidence_area}`);
      }
    },
  );

  test.each(["light", "normal", "aggressive"] as const)(
    "depth %s covers every operation at any budget",
    (depth) => {
      const all = new Set(generate(depth).map(({ operation }) => operation));
      for (const budget of [all.size, all.size * 2, all.size * 5]) {
        const few = generate(depth, budget);
        expect(few.length).toBe(Math.min(budget, generate(depth).length));
        expect(new Set(few.map(({ operation }) => operation))).toEqual(all);
      }
    },
  );

  test("a budget prefers critical scenarios", () => {
    const all = new Set(generate("normal").map(({ operation }) => operation)).size;
    const count = (budget: number) =>
      generate("normal", budget).filter(({ priority }) => priority === "critical").length;
    expect(count(all * 3) / (all * 3)).toBeGreaterThan(
      generate("normal").filter(({ priority }) => priority === "critical").length /
        generate("normal").length,
    );
  });

  test("the output contains the matrix of operations and families", async () => {
    const cwd = folder({ "openapi.json": DOCUMENT });
    const { stdout } = await tool(cwd, "run", "--spec", "openapi.json");
    expect(stdout).toMatch(/^\d+ operations × \d+ families$/m);
    expect(stdout).toMatch(/^GET \/files\/\{name\} +[●·]{30,} {2}\d+$/m);
    expect(stdout).toMatch(/^ +1 {2}auth_garbage$/m);
    const markdown = await tool(cwd, "run", "--spec", "openapi.json", "--output", "markdown");
    expect(markdown.stdout).toContain("Coverage: operation × family");
  });
});

describe("a formula or a command in a text", () => {
  const document = {
    openapi: "3.1.0",
    paths: {
      "/greet": {
        get: {
          parameters: [{ name: "name", in: "query", schema: { type: "string" } }],
          ...answers(200),
        },
      },
    },
  };
  const nameIn = (line: string) =>
    new URL(line.split(" ")[1]!, "http://localhost").searchParams.get("name") ?? "";
  test.each<[string, string, (name: string) => string, string]>([
    [
      "computed",
      "text_template",
      (name) => /\{\{1337\*7331\}\}/.test(name) ? "9801547" : "",
      "failed",
    ],
    [
      "run",
      "text_command",
      (name) => /;expr 1337 \\\* 7331;/.test(name) ? "9801547" : "",
      "failed",
    ],
    ["echoed by the page", "text_template", (name) => name, "passed"],
    ["echoed by the shell's caller", "text_command", (name) => name, "passed"],
  ])("%s", async (_name, family, compute, expected) => {
    const respond: Respond = (line) => [200, { hello: compute(nameIn(line)) }];
    expect(await verdict(document, family, respond)).toBe(expected);
  });
});
