import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { createApp } from "../../server/app.ts";
import { listOperations } from "../../server/openapi.ts";
import { createOpenApi } from "../../server/openapi_document.ts";

const routes = createApp().routes;
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

test("no GET changes anything: what does is asked for by another method", () => {
  const readers = operations.filter((operation) => operation.method === "GET");
  // Logging in uses up a code that only the person who opened the link had.
  const changing = readers.filter(({ path }) =>
    /(?:approve|reject|rollback|replay|cancel|claim|result|wait|end|unblock)$/.test(path)
  );
  expect(changing).toEqual([]);
  expect(readers.filter((operation) => operation.json !== null)).toEqual([]);
});
