type Json = Record<string, unknown>;

const text = { type: "string" };
const login = [{ bearer: [] }];
const id = { name: "id", in: "path", required: true, schema: text };

function body(required: string[], properties: Json): Json {
  const schema = { type: "object", required, properties };
  return { requestBody: { required: true, content: { "application/json": { schema } } } };
}

function answers(...statuses: number[]): Json {
  const named = statuses.map((status) => [status, { description: String(status) }]);
  return { responses: Object.fromEntries(named) };
}

function query(name: string, schema: Json): Json {
  return { name, in: "query", schema };
}

const note = body(["title", "text"], { title: text, text });
const quantity = body(["quantity"], { quantity: { type: "integer", minimum: 1, maximum: 100 } });
const paths: Json = {
  "/sessions": {
    post: {
      security: [],
      ...body(["user", "password"], {
        user: { ...text, example: "alice" },
        password: { ...text, example: "wonderland" },
      }),
      ...answers(201, 400, 401, 415),
    },
  },
  "/sessions/current": { delete: answers(204, 401) },
  "/profile": {
    get: answers(200, 401),
    patch: { ...body(["name"], { name: text }), ...answers(200, 400, 401, 415) },
  },
  "/users": {
    post: {
      security: [],
      ...body(["email", "password"], { email: { ...text, format: "email" }, password: text }),
      ...answers(201, 400, 409, 415),
    },
  },
  "/notes": {
    get: answers(200, 401),
    post: { ...note, ...answers(201, 400, 401, 415) },
  },
  "/notes/{id}": {
    parameters: [id],
    get: answers(200, 401, 404),
    put: { ...note, ...answers(200, 400, 401, 404, 415) },
    delete: answers(204, 401, 404),
  },
  "/orders": { post: { ...quantity, ...answers(201, 400, 401, 415) } },
  "/orders/{id}": {
    parameters: [id],
    get: answers(200, 401, 404),
    put: {
      parameters: [{ name: "If-Match", in: "header", required: true, schema: text }],
      ...quantity,
      ...answers(200, 401, 404, 412, 415, 428),
    },
  },
  "/orders/{id}/pay": { post: { parameters: [id], ...answers(200, 401, 404, 409) } },
  "/comments": { post: { ...body(["text"], { text }), ...answers(201, 400, 401, 415) } },
  "/comments/{id}": {
    parameters: [id],
    get: answers(200, 401, 404),
    delete: answers(204, 401, 404),
  },
  "/transfers": {
    post: {
      parameters: [{ name: "Idempotency-Key", in: "header", schema: text }],
      ...body(["to", "amount"], {
        to: text,
        amount: { type: "integer", minimum: 1, maximum: 10_000 },
      }),
      ...answers(201, 400, 401, 415),
    },
  },
  "/products": {
    get: {
      security: [],
      parameters: [
        query("limit", { type: "integer", minimum: 1, maximum: 50 }),
        query("offset", { type: "integer", minimum: 0 }),
      ],
      ...answers(200, 400),
    },
  },
  "/reports": { get: answers(200, 401) },
  "/files/{name}": {
    get: {
      security: [],
      parameters: [{ name: "name", in: "path", required: true, schema: text, example: "a.txt" }],
      ...answers(200, 404),
    },
  },
  "/go": { get: { security: [], parameters: [query("to", text)], ...answers(302) } },
};

/** The shop's OpenAPI document. It describes the shop without bugs. */
export const DOCUMENT: Json = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  security: login,
  components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  paths,
};
