import { describe, expect, test } from "vitest";
import { folder, serve, tool } from "./harness.ts";

type Fault = "none" | "foreign" | "undead" | "half_write" | "key_ignored";

/** A service for notes with owners, with one fault or none. */
async function notes(fault: Fault) {
  const records = new Map<string, { owner: string; text: string }>();
  const keys = new Map<string, string>();
  let next = 1;
  return await serve((request, response, body) => {
    const who = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const answer = (status: number, value: unknown = {}) => {
      response.statusCode = status;
      response.end(JSON.stringify(value));
    };
    if (who === "") return answer(401);
    const id = /^\/notes\/(\d+)$/.exec(request.url ?? "")?.[1];
    const record = id ? records.get(id) : undefined;
    if (!id && request.method === "POST") {
      const key = String(request.headers["idempotency-key"] ?? "");
      const known = fault === "key_ignored" ? undefined : keys.get(key);
      const made = known ?? String(next++);
      if (key) keys.set(key, made);
      records.set(made, { owner: who, text: "new" });
      return answer(201, { id: made });
    }
    if (!id || !record) return answer(404);
    if (record.owner !== who && fault !== "foreign") return answer(404);
    if (request.method === "GET") return answer(200, { id, text: record.text });
    if (request.method === "DELETE") {
      if (fault !== "undead") records.delete(id);
      return answer(204);
    }
    if (fault === "half_write") record.text = "half";
    try {
      record.text = JSON.parse(body).text;
      answer(200, { id, text: record.text });
    } catch {
      answer(400);
    }
  });
}

const item = {
  parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
};
const content = {
  "application/json": { schema: { type: "object", properties: { text: { type: "string" } } } },
};
const SPEC = {
  openapi: "3.1.0",
  security: [{ bearer: [] }],
  components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  paths: {
    "/notes": {
      post: {
        parameters: [{ name: "Idempotency-Key", in: "header", schema: { type: "string" } }],
        requestBody: { content },
        responses: { 201: {} },
      },
    },
    "/notes/{id}": {
      ...item,
      get: { responses: { 200: {}, 404: {} } },
      put: { requestBody: { content }, responses: { 200: {}, 400: {} } },
      delete: { responses: { 204: {} } },
    },
  },
};

const FAMILIES = ["use_after_delete", "foreign_record", "failed_write", "same_key_twice"];

async function play(fault: Fault) {
  const { url } = await notes(fault);
  const cwd = folder({ "openapi.json": SPEC });
  const { stdout } = await tool(
    cwd,
    ...[
      "run",
      "--spec",
      "openapi.json",
      "--target",
      url,
      "--output",
      "json",
      "--driver",
      "playbook",
    ],
    ...["-H", "Authorization: Bearer carol"],
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
  );
  const { scenarios, executions } = JSON.parse(stdout);
  const statuses = new Map<string, Set<string>>();
  scenarios.forEach(({ family }: { family: string }, n: number) => {
    if (!FAMILIES.includes(family)) return;
    statuses.set(family, (statuses.get(family) ?? new Set()).add(executions[n].status));
  });
  return Object.fromEntries(
    [...statuses].map(([family, seen]) => [family, [...seen].sort().join()]),
  );
}

const CLEAN = Object.fromEntries(FAMILIES.map((family) => [family, "passed"]));

describe("playbooks run several requests without a model", () => {
  test.each<[Fault, string]>([
    ["undead", "use_after_delete"],
    ["foreign", "foreign_record"],
    ["half_write", "failed_write"],
    ["key_ignored", "same_key_twice"],
  ])("the fault %s fails only the family %s", async (fault, family) => {
    expect(await play(fault)).toEqual({ ...CLEAN, [family]: "failed" });
  });

  test("the service without faults passes all families", async () => {
    expect(await play("none")).toEqual(CLEAN);
  });
});

test("a playbook without its identities is inconclusive", async () => {
  const { url } = await notes("foreign");
  const cwd = folder({ "openapi.json": SPEC });
  const argv = [
    "run",
    "--target",
    url,
    "--output",
    "json",
    "--driver",
    "playbook",
    "--filter",
    "somebody else",
  ];
  const { stdout, code } = await tool(cwd, ...argv, "-H", "Authorization: Bearer carol");
  const statuses = JSON.parse(stdout).executions.map(({ status }: { status: string }) => status);
  expect({ statuses: [...new Set(statuses)], code }).toEqual({
    statuses: ["inconclusive"],
    code: 0,
  });
});
