import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRoutes } from "../../server/app.ts";
import { listOperations } from "../../server/route.ts";
import * as grants from "../../server/grants/schema.ts";
import { createOpenApi } from "../../server/openapi_document.ts";
import { createTestGate } from "../helpers.ts";

const routes = createRoutes().routes;
const operations = listOperations(routes);
const document = createOpenApi(operations);

test("the document is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  expect(result.errors ?? []).toEqual([]);
  expect(validator.version).toBe("3.1");
});

test("every route describes itself", () => {
  const served = new Set(
    routes.filter((route) => route.method !== "ALL").map(({ method, path }) => `${method} ${path}`),
  );
  const described = operations.map(({ method, path }) =>
    `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`
  );
  expect(described.sort()).toEqual([...served].sort());
});

test("no operation has the name of another", () => {
  const paths = document.paths as Record<string, Record<string, { operationId: string }>>;
  const ids = Object.values(paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId)
  );
  expect(new Set(ids).size).toBe(ids.length);
});

test("every reference leads somewhere, and records are named once", () => {
  const text = JSON.stringify(document);
  const { schemas } = document.components as { schemas: Record<string, unknown> };
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    expect(schemas).toHaveProperty(name!);
  }
  expect(JSON.stringify(schemas.ActionList)).toContain('"#/components/schemas/Action"');
});

test("every example is what its schema says", () => {
  const examples = Object.entries(grants).flatMap(([name, schema]) =>
    schema instanceof z.ZodType
      ? (schema.meta()?.examples as unknown[] ?? []).map((one) => [name, schema, one] as const)
      : []
  );
  expect(examples.length).toBeGreaterThan(3);
  const { schemas } = document.components as { schemas: Record<string, { examples?: unknown[] }> };
  for (const [name, schema, example] of examples) {
    expect(schema.safeParse(example).success, name).toBe(true);
    expect(schemas[name]?.examples, name).toContainEqual(example);
  }
});

test("no GET changes anything", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const submitted = await gate.request("POST", "/api/actions", {
    tool: "write_file",
    input: { path: "a.txt", content: "a" },
  });
  const { id, session_id } = await submitted.json();
  const before = [gate.daemon.stream.head, await gate.audit()];
  const readers = operations.filter(({ method, path }) =>
    method === "GET" && path !== "/api/events"
  );
  const answered: number[] = [];
  for (const { path } of readers) {
    const named = path.replace("{id}", path.includes("sessions") ? session_id : id);
    answered.push((await gate.request("GET", named)).status);
  }
  expect(answered.filter((status) => status >= 500)).toEqual([]);
  expect(answered.filter((status) => status === 200).length).toBeGreaterThan(10);
  expect([gate.daemon.stream.head, await gate.audit()]).toEqual(before);
});
