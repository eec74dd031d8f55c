import { describe, expect, test } from "vitest";
import type { Finding } from "../../../cli/scenario/schema.ts";
import { folder, serve, tool } from "./harness.ts";

const ok = { responses: { 200: { description: "" }, 404: { description: "" } } };
const title = { type: "object", required: ["title"], properties: { title: { type: "string" } } };
const id = { name: "id", in: "path", required: true, schema: { type: "string" } };

/** Notes that are made, listed, read and deleted; each operation has `more`. */
const notes = (more: object) => ({
  "/notes": {
    get: { ...more, ...ok },
    post: { ...more, requestBody: { content: { "application/json": { schema: title } } }, ...ok },
  },
  "/notes/{id}": { parameters: [id], get: { ...more, ...ok }, delete: { ...more, ...ok } },
});

/** Runs the tool with two logins on a service; `asks` names the operations that want a login. */
async function findingsOn(more: object, asks: (line: string) => boolean): Promise<Finding[]> {
  const kept = new Map<string, { id: string; title: string }>();
  const { url } = await serve((request, response, body) => {
    const send = (status: number, value: unknown = {}) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const { method = "", url = "", headers } = request;
    const key = /^\/notes\/([^/]+)$/.exec(url)?.[1];
    const isKnown = /^Bearer (alice|bob)$/.test(headers.authorization ?? "");
    if (asks(`${method} ${url}`) && !isKnown) return send(401);
    if (key !== undefined) {
      const note = kept.get(key);
      if (method === "DELETE") return send(kept.delete(key) ? 200 : 404);
      return method === "GET" && note ? send(200, note) : send(404);
    }
    if (url !== "/notes") return send(404);
    if (method === "GET") return send(200, [...kept.values()]);
    const sent = /^\{"title":"([^"]{1,100})"\}$/.exec(body)?.[1];
    if (method !== "POST" || sent === undefined) return send(400);
    const note = { id: `n-${kept.size}-${Math.random()}`, title: sent };
    kept.set(note.id, note);
    send(200, note);
  });
  const cwd = folder({
    "openapi.json": {
      openapi: "3.1.0",
      info: { title: "notes", version: "1" },
      components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
      paths: notes(more),
    },
  });
  const { stdout } = await tool(
    cwd,
    ...["run", "--target", url, "--output", "json"],
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
  );
  return JSON.parse(stdout).findings;
}

const aboutLogins = (findings: Finding[]) =>
  findings.filter(({ family }) => /^(auth|foreign|forged)_/.test(family));

describe("a service that asks nobody for a login", () => {
  test("has one finding for all of its operations, where the document names logins", async () => {
    const found = aboutLogins(await findingsOn({ security: [{ key: [] }] }, () => false));
    expect(found).toMatchObject([{
      family: "auth_missing",
      title: "No operation asks for a login",
      severity: "critical",
      cwe: "CWE-306",
      operation: null,
    }]);
    expect(found[0]!.also.length).toBeGreaterThan(8);
  });

  test("has one for each operation, where another one asks for a login", async () => {
    const asks = (line: string) => line === "GET /notes";
    const found = aboutLogins(await findingsOn({ security: [{ key: [] }] }, asks));
    const operations = found.filter(({ family }) => family === "auth_missing")
      .map(({ operation }) => operation);
    expect(operations.sort()).toEqual(["GET /notes/{id}", "POST /notes"]);
  });

  test("has none about another's records, where the document names no login either", async () => {
    expect(await findingsOn({}, () => false)).toEqual([]);
  });
});

describe("a form that is answered with a redirect", () => {
  const form = (path: string) => ({
    [path]: {
      post: {
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              schema: { type: "object", properties: { username: { type: "string" } } },
            },
          },
        },
        responses: { 200: { description: "" } },
      },
    },
  });

  test.each<[string, string, number, string, boolean]>([
    ["leads on", "/orders", 302, "/thanks", true],
    ["leads on after a moved POST", "/orders", 303, "https://shop.example/thanks?id=1", true],
    ["leads a new user to the login", "/signup", 302, "/login", true],
    ["leads back to the form", "/orders", 302, "/orders", false],
    ["names an error", "/orders", 302, "/thanks?error=stock", false],
    ["asks for a login", "/orders", 302, "/login?next=/orders", false],
    ["says that the address is another one", "/orders", 301, "/new-orders", false],
  ])("%s", async (_name, path, status, location, isTested) => {
    const names: string[] = [];
    const { url } = await serve((request, response, body) => {
      if (request.url !== path || request.method !== "POST") return response.writeHead(404).end();
      names.push(body);
      response.writeHead(status, { Location: location }).end();
    });
    const cwd = folder({
      "openapi.json": { openapi: "3.1.0", info: { title: "x", version: "1" }, paths: form(path) },
    });
    const { stdout } = await tool(cwd, "run", "--target", url, "--output", "json");
    const { executions, summary } = JSON.parse(stdout);
    const tested = summary.untested.map(({ operation }: { operation: string }) => operation);
    expect(tested).toEqual(isTested ? [] : [`POST ${path}`]);
    const passed = executions.filter((one: { status: string }) => one.status === "passed");
    expect(passed.length > 0).toBe(isTested);
    // Each form has a name of its own, so that none is refused for an earlier one.
    const sent = names.filter((one) => /^username=u[\w]+$/.test(one));
    expect(sent.length).toBeGreaterThan(1);
    expect(names.join(" ")).not.toMatch(/%7B%7Buniq|\{\{uniq/);
  });
});
