import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import type { ControlRequest } from "../../../cli/scenario/execute/controls.ts";
import type { Execution, Scenario } from "../../../cli/scenario/schema.ts";
import { folder, serve, tool } from "./harness.ts";

const text = { type: "string" };
const ok = { responses: { 200: { description: "" } } };
const id = { parameters: [{ name: "id", in: "path", required: true, schema: text }] };
const body = (properties: object) => ({
  requestBody: { content: { "application/json": { schema: { type: "object", properties } } } },
});
const guarded = { security: [{ key: [] }] };
const thing = body({ title: text, owner: text, amount: { type: "integer" }, url: text });
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Things", version: "1" },
  components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
  paths: {
    "/login": { post: { ...body({ username: text, password: text }), ...ok } },
    "/logout": { post: { ...guarded, ...ok } },
    "/reset": { get: ok },
    "/me": { get: { ...guarded, ...ok } },
    "/admin/users": { get: { ...guarded, ...ok } },
    "/menu": { get: ok, put: { ...guarded, ...thing, ...ok } },
    "/things": { get: { ...guarded, ...ok }, post: { ...guarded, ...thing, ...ok } },
    "/things/{id}": {
      ...id,
      get: { ...guarded, ...ok },
      put: { ...guarded, ...thing, ...ok },
      delete: { ...guarded, ...ok },
    },
    "/things/{id}/pay": { post: { ...id, ...guarded, ...body({ amount: text }), ...ok } },
    "/open/{id}": { get: { ...id, ...ok }, delete: { ...id, ...ok } },
  },
};

/** How one operation behaves: a status for everybody, or a success that ends after some requests. */
const WAYS = [200, 200, "guarded", "ends", 400, 401, 403, 404, 405, 429, 302] as const;
type Way = typeof WAYS[number];

/** Numbers below `limit` that are the same in each run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed * 2_654_435_761 >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
}

const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
  Object.keys(item).filter((verb) => verb !== "parameters")
    .map((verb) => `${verb.toUpperCase()} ${path}`)
);

function operationOf({ method = "", url = "" }: IncomingMessage): string | undefined {
  const path = url.split("?")[0]!;
  return OPERATIONS.find((one) => {
    const [verb, template = ""] = one.split(" ");
    const pattern = template.replaceAll(/\{[^{}]+\}/g, "[^/]+");
    return verb === method && new RegExp(`^${pattern}/?$`).test(path);
  });
}

type Ran = Scenario & Execution & { family: string; operation: string };

/** Runs every family on a server whose operations behave in ways drawn from `seed`. */
async function runOn(seed: number) {
  const draw = numbers(seed);
  const ways = new Map<string, Way>(OPERATIONS.map((one) => [one, WAYS[draw(WAYS.length)]!]));
  const sent = new Map<string, number>();
  const won = new Set<string>();
  const { url } = await serve((request: IncomingMessage, response: ServerResponse) => {
    const operation = operationOf(request) ?? "";
    const count = (sent.get(operation) ?? 0) + 1;
    sent.set(operation, count);
    const way = ways.get(operation) ?? 404;
    const isKnown = /alice|bob/.test(request.headers.authorization ?? "");
    const status = way === "guarded" ? isKnown ? 200 : 401 : way === "ends" ? endOf(count) : way;
    if (status === 200) won.add(operation);
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(status === 200 ? { id: "t-1", title: "x" } : { error: "no" }));
  });
  const cwd = folder({ "openapi.json": DOCUMENT });
  const { stdout } = await tool(
    cwd,
    ...["run", "--target", url, "--output", "json", "--depth", "aggressive"],
    ...["--try", "login-limit,slow-sql,slow-pattern"],
    ...["--as", "alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
  );
  const { scenarios, executions } = JSON.parse(stdout) as {
    scenarios: Scenario[];
    executions: Execution[];
  };
  const all = executions.map((one, n) => ({ ...scenarios[n]!, ...one }) as Ran);
  return { won, all };
}

/** The operation answers a few times, and then asks for a login that nobody has. */
function endOf(count: number): number {
  return count < 8 ? 200 : 401;
}

test.each([1, 3, 6])(
  "each pass names a request that succeeded, whatever the server does: %i",
  async (seed) => {
    const { all, won } = await runOn(seed);
    const passed = all.filter(({ status }) => status === "passed");
    expect(passed.length).toBeGreaterThan(0);
    const byId = new Map(all.map((one) => [one.scenario_id, one]));
    const isEmpty = ({ evidence, operation }: Ran) => {
      const { in: where, id, status } = (evidence.control ?? {}) as Partial<ControlRequest>;
      const isWon = Number(status) >= 200 && Number(status) < 300 && won.has(operation);
      if (where === "rehearsal") return !isWon;
      const { response, race, ledger = [] } = byId.get(String(where))?.evidence ?? {};
      const kept = id === undefined
        ? response ?? race
        : (ledger as { id: string }[]).find((entry) => entry.id === id);
      return !isWon || kept === undefined;
    };
    // Where no refusal is asked for, a 401 says that nobody looked at the request.
    const isUnread = ({ evidence, exec, family, operation }: Ran) => {
      const { response, ledger = [] } = evidence as {
        response?: { status: number };
        ledger?: { status: number }[];
      };
      const isAsked = exec?.expected_end === "denied" || /^(admin|foreign)_|_limit$/.test(family);
      const answers = response === undefined ? ledger : [response];
      return answers.length > 0 && answers.every((one) => one.status === 401) && !isAsked &&
        operation !== "POST /login";
    };
    const wrong = passed.filter((one) => isEmpty(one) || isUnread(one));
    expect(wrong.map(({ family, operation, reason }) => `${family} ${operation}: ${reason}`))
      .toEqual([]);
  },
);
