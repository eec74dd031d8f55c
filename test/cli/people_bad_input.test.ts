import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createRoutes } from "../../server/app.ts";
import { listOperations } from "../../server/route.ts";
import { type GatedProject, openGatedProject } from "./gated_project.ts";

const PARTS =
  /^\/api\/(?:team|approval-routes|approvals|escalations|hub|remediation|notifications)(?:\/|$)/;
const UNKNOWN = "019a0000-0000-7000-8000-000000000000";
const operations = listOperations(createRoutes().routes).filter(({ path }) => PARTS.test(path));

let gated: GatedProject;
let token: string;
let held: string;
let before: unknown;

// deno-lint-ignore no-explicit-any
type Json = any;

beforeAll(async () => {
  gated = await openGatedProject();
  token = (await gated.good("token", "--scope", "reviewer")).stdout.trim();
  for (const [name, role] of [["Ann", "admin"], ["Ben", "reviewer"], ["Vic", "viewer"]]) {
    expect((await send("POST", "/api/team/members", { name, role })).status).toBe(201);
  }
  const route = { name: "Deploys", match: { paths: ["deploy/**"] }, quorum: 2 };
  const approvers = { members: ["ann", "ben"] };
  expect((await send("POST", "/api/approval-routes", { ...route, approvers })).status).toBe(201);
  held = (await gated.write("deploy/a.yml", "a: 1\n")).id;
  before = await everything();
  expect(before).toMatchObject({
    members: [{ id: "ann" }, { id: "ben" }, { id: "vic" }],
    routes: [{ id: "deploys" }],
    approvals: [{ action: { id: held } }],
  });
});
afterAll(() => gated?.close());

interface Sent {
  status: number;
  type: string | null;
  body: Json;
}

async function raw(method: string, path: string, init: RequestInit = {}): Promise<Sent> {
  const response = await fetch(`http://127.0.0.1:${gated.terminal.env["GATE_PORT"]}${path}`, {
    method,
    ...init,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...init.headers,
    },
  });
  const text = await response.text();
  const body = text === "" ? null : JSON.parse(text);
  return { status: response.status, type: response.headers.get("content-type"), body };
}

async function send(method: string, path: string, body?: unknown): Promise<Sent> {
  return await raw(method, path, body === undefined ? {} : { body: JSON.stringify(body) });
}

/** Everything that a refused request must leave alone. */
async function everything(): Promise<Record<string, unknown>> {
  const home = join(gated.terminal.folder, ".gate");
  const files = ["team.json", "approval_routes.json", "config.json"].map((name) =>
    join(home, name)
  );
  files.push(join(gated.folder, "gate.config.json"));
  const items = async (path: string) => (await send("GET", path)).body.items;
  return {
    files: files.map((path) => existsSync(path) ? readFileSync(path, "utf8") : null),
    members: await items("/api/team/members"),
    routes: await items("/api/approval-routes"),
    approvals: await items("/api/approvals/pending?project=web"),
    escalations: await items("/api/escalations/pending"),
    projects: await items("/api/hub/projects"),
    blocks: await items("/api/remediation/blocks?project=web"),
    receivers: await items("/api/notifications/receivers"),
    events: (await send("GET", "/api/audit/events?project=web&limit=200")).body.items.length,
  };
}

/** The faults of the answers in a test. */
let faults: string[] = [];
beforeEach(() => {
  faults = [];
});
afterEach(async () => {
  expect(faults).toEqual([]);
  expect(await everything()).toEqual(before);
});

/** Notes how an answer falls short of a problem document with a cause and a next step. */
function check(what: string, { status, type, body }: Sent): void {
  const detail = String(body?.detail);
  const rules: [boolean, string][] = [
    [type === "application/problem+json", `it is ${type}`],
    [status >= 400 && status < 500 && body?.status === status, `its status is ${status}`],
    [/^(?:Cannot|No) [^]+?[:;] [^]+/.test(detail), "it names no cause"],
    [NEXT_STEP.test(detail), "it names no next step"],
    [!/\n\s+at |node_modules|\.ts:/.test(detail), "it shows the program"],
    [JSON.stringify(body).length < 8_000, "it is long"],
  ];
  for (const [holds, why] of rules) {
    if (!holds) faults.push(`${what}: ${why}: ${detail.slice(0, 300)}`);
  }
}

/** The next step follows a semicolon, or is a command or a request. */
const NEXT_STEP = /; [a-z]|\b(?:see|run|try|give|change it first:) gate \w/;

const BODIES: [name: string, body: string | Uint8Array<ArrayBuffer>, type?: string][] = [
  ["nothing", ""],
  ["half of an object", '{"name":'],
  ["null", "null"],
  ["a list", "[]"],
  ["a text", '"x"'],
  ["a number", "1e309"],
  ["an unknown key", '{"an_unknown_key":1}'],
  ["a prototype", '{"__proto__":{"role":"admin"},"constructor":1}'],
  ["a list for every field", '{"name":[],"id":[],"items":{},"root":[],"session_id":[],"kind":[]}'],
  ["bytes that are no UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ["a deep list", "[".repeat(20_000)],
  ["deep objects", '{"a":'.repeat(20_000)],
  ["3 MiB", JSON.stringify({ name: "x".repeat(3 << 20) })],
  ["a form", "name=Eve&role=admin", "application/x-www-form-urlencoded"],
  ["plain text", '{"name":"Eve"}', "text/plain"],
];

const IDS = [
  UNKNOWN,
  "%00",
  "%20",
  "..%2f..%2fetc%2fpasswd",
  "%F0%9F%92%A9",
  "x".repeat(3_000),
  "__proto__",
];

const withBody = operations.filter(({ method, path }) =>
  ["POST", "PUT", "PATCH"].includes(method) && !path.endsWith("/override-trust")
);

describe("every route that takes a body", () => {
  test.each(withBody)("$method $path refuses every wrong body", async ({ method, path }) => {
    const address = path.replaceAll(/\{\w+\}/g, "ann");
    for (const [name, body, type = "application/json"] of BODIES) {
      // Nothing stands for an object without a field.
      if (path.endsWith("/login-code") && /^(?:null)?$/.test(String(body))) continue;
      const answer = await raw(method, address, { body, headers: { "content-type": type } });
      check(`${method} ${path} with ${name}`, answer);
    }
  });
});

describe("every route that names a thing", () => {
  test.each(operations.filter(({ path }) => path.includes("{")))(
    "$method $path refuses every id of nothing",
    async ({ method, path }) => {
      const body = VALID[`${method} ${path}`];
      for (const id of IDS) {
        const address = path.replaceAll(/\{\w+\}/g, id);
        const answer = await send(method, address, body);
        check(`${method} ${address.slice(0, 80)}`, answer);
        expect([address.slice(0, 80), [400, 404].includes(answer.status)])
          .toEqual([address.slice(0, 80), true]);
      }
    },
  );
});

/** Bodies with which a route gets as far as the id. */
const VALID: Record<string, unknown> = {
  "PATCH /api/team/members/{id}": { name: "X" },
  "POST /api/team/members/{id}/login-code": {},
  "PATCH /api/approval-routes/{id}": { quorum: 1 },
  "POST /api/remediation/blocks/{block_id}/unblock": {},
  "PUT /api/notifications/receivers/{id}": { id: "ops", kind: "desktop" },
};

describe("every route that lists", () => {
  test.each(operations.filter(({ method, path }) => method === "GET" && !path.includes("{")))(
    "$path refuses a project that is none, or ignores it",
    async ({ path }) => {
      for (const project of ["none", "%00", "x".repeat(3_000), "..%2f..%2fetc"]) {
        const answer = await send("GET", `${path}?project=${project}`);
        // A list of the whole machine has no project.
        if (answer.status !== 200) check(`${path} of ${project.slice(0, 40)}`, answer);
      }
    },
  );
});

test("every other method is refused, and the answer names those that there are", async () => {
  for (const path of new Set(operations.map((one) => one.path))) {
    const known = operations.filter((one) => one.path === path).map(({ method }) => method);
    const address = path.replaceAll(/\{\w+\}/g, UNKNOWN);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      if (known.includes(method)) continue;
      const answer = await send(method, address, method === "GET" ? undefined : {});
      // A name in the place of an id is another route: `members/accept`.
      if (method === "GET" && answer.status === 200) continue;
      check(`${method} ${path}`, answer);
    }
  }
});

const name = "Eve";
const route = { name: "New", approvers: { members: ["ann"] } };
const hook = { id: "ops", kind: "webhook", url: "https://example.com/x", secret_env: "KEY" };
const many = (count: number, value: unknown = "x") => Array.from({ length: count }, () => value);

describe("right in shape and wrong in content", () => {
  test.each<[method: string, path: string, body: Json]>([
    ["POST", "/api/team/members", { name: "" }],
    ["POST", "/api/team/members", { name: "a\nb" }],
    ["POST", "/api/team/members", { name: "\u202eevE" }],
    ["POST", "/api/team/members", { name: "x".repeat(201) }],
    ["POST", "/api/team/members", { name, role: "owner" }],
    ["POST", "/api/team/members", { name, id: "__proto__" }],
    ["POST", "/api/team/members", { name, id: "ANN" }],
    ["POST", "/api/team/members", { name, email: "a@b.example, c@d.example" }],
    ["POST", "/api/team/members", { name, email: "a@b.example\r\nBcc: c@d.example" }],
    ["POST", "/api/team/members", { name, channels: many(17, { kind: "slack", address: "U01" }) }],
    ["PATCH", "/api/team/members/ann", { role: "viewer" }],
    ["PATCH", "/api/team/members/ann", { id: "eve" }],
    ["DELETE", "/api/team/members/ben", undefined],
    ["POST", "/api/team/members/ann/login-code", { role: "admin" }],
    ["POST", "/api/team/members/ben/login-code", { role: "admin", invitation: "A".repeat(43) }],
    ["POST", "/api/team/accept", { items_sha256: "0".repeat(64), number: 1 }],
    ["POST", "/api/approval-routes", { ...route, quorum: 0 }],
    ["POST", "/api/approval-routes", { ...route, quorum: 1.5 }],
    ["POST", "/api/approval-routes", { ...route, quorum: 2 }],
    ["POST", "/api/approval-routes", { ...route, approvers: {} }],
    ["POST", "/api/approval-routes", { ...route, approvers: { members: ["nobody"] } }],
    ["POST", "/api/approval-routes", { ...route, approvers: { members: ["vic"] } }],
    ["POST", "/api/approval-routes", { ...route, approvers: { role: "viewer" } }],
    ["POST", "/api/approval-routes", { ...route, approvers: { members: many(101, "ann") } }],
    ["POST", "/api/approval-routes", { ...route, remind_at: [0] }],
    ["POST", "/api/approval-routes", { ...route, remind_at: [1] }],
    ["POST", "/api/approval-routes", { ...route, escalate_after_seconds: 60 }],
    ["POST", "/api/approval-routes", { ...route, escalate_to: ["ben"] }],
    [
      "POST",
      "/api/approval-routes",
      { ...route, escalate_to: ["ben"], escalate_after_seconds: 60, expires_after_seconds: 60 },
    ],
    ["POST", "/api/approval-routes", { ...route, expires_after_seconds: -1 }],
    ["POST", "/api/approval-routes", { ...route, match: { paths: [""] } }],
    ["POST", "/api/approval-routes", { ...route, match: { paths: ["x".repeat(257)] } }],
    ["POST", "/api/approval-routes", { ...route, match: { paths: many(101) } }],
    ["POST", "/api/approval-routes", { ...route, match: { paths: ["a\0b"] } }],
    ["POST", "/api/approval-routes", { ...route, match: { min_risk: "huge" } }],
    ["POST", "/api/approval-routes", { ...route, match: { users: ["x"] } }],
    ["POST", "/api/approval-routes", { ...route, name: "Deploys" }],
    ["PATCH", "/api/approval-routes/deploys", { quorum: 3 }],
    ["PATCH", "/api/approval-routes/deploys", { ordered: true, approvers: { role: "admin" } }],
    ["POST", "/api/approval-routes/test?project=web", { path: "a", risk: "huge" }],
    ["POST", "/api/approval-routes/test?project=none", { path: "a" }],
    ["POST", "/api/approval-routes/accept", { items_sha256: "x", number: 1 }],
    ["POST", "/api/approvals/approve", { items: [] }],
    ["POST", "/api/approvals/approve", { items: many(501, { id: UNKNOWN, expected_digest: "0" }) }],
    ["POST", "/api/approvals/approve", { items: [{ id: UNKNOWN }] }],
    ["POST", "/api/approvals/reject", { items: [] }],
    ["POST", "/api/approvals/reject", { items: [{}] }],
    ["POST", "/api/hub/projects", { root: "" }],
    ["POST", "/api/hub/projects", { root: "relative" }],
    ["POST", "/api/hub/projects", { root: "/nowhere/at/all" }],
    ["POST", "/api/hub/projects", { root: "/etc/passwd" }],
    ["POST", "/api/hub/projects", { root: "/tmp/\0" }],
    ["POST", "/api/hub/projects", { root: `/${"x".repeat(5_000)}` }],
    ["PUT", "/api/hub/projects/none/override-trust", undefined],
    ["POST", "/api/remediation/assess?project=web", {}],
    ["POST", "/api/remediation/assess?project=web", { action_id: UNKNOWN }],
    ["POST", "/api/remediation/assess?project=web", { action_id: "a", session_id: "b" }],
    ["POST", "/api/remediation/assess?project=web", { session_id: "x".repeat(65) }],
    ["POST", "/api/remediation/assess?project=none", { session_id: UNKNOWN }],
    ["POST", "/api/remediation/evaluate-policy?project=web", { session_id: UNKNOWN }],
    ["POST", "/api/remediation/evaluate-policy?project=web", { session_id: "" }],
    ["POST", "/api/remediation/recommend?project=web", { session_id: UNKNOWN }],
    ["POST", "/api/remediation/recommend?project=web", { session_id: "\0" }],
    [
      "POST",
      `/api/remediation/blocks/${UNKNOWN}/unblock?project=web`,
      { reason: "x".repeat(4_001) },
    ],
    ["POST", "/api/notifications/receivers", { ...hook, url: "http://example.com" }],
    ["POST", "/api/notifications/receivers", { ...hook, secret_env: "whsec_c2VjcmV0" }],
    ["POST", "/api/notifications/receivers", { ...hook, id: "../x" }],
    ["PUT", "/api/notifications/receivers/ops", hook],
    ["POST", "/api/notifications/test", {}],
    ["POST", "/api/notifications/test", { receiver_id: "none" }],
    ["POST", "/api/notifications/retry", { id: UNKNOWN }],
    ["GET", "/api/notifications/deliveries?limit=0", undefined],
    ["GET", "/api/notifications/deliveries?state=lost", undefined],
  ])("%# %s %s", async (method, path, body) => {
    check(`${method} ${path}`, await send(method, path, body));
  });

  test("of several actions each wrong one is told, and none is decided", async () => {
    const items = [{ id: held, expected_digest: "0".repeat(64) }, {
      id: UNKNOWN,
      expected_digest: "0".repeat(64),
    }];
    for (const verb of ["approve", "reject"]) {
      const { status, body } = await send("POST", `/api/approvals/${verb}`, { items });
      if (status !== 200) {
        check(verb, { status, body, type: "application/problem+json" });
        continue;
      }
      for (const { problem } of body.outcomes) {
        expect([verb, problem.detail]).toEqual([verb, expect.stringMatching(/^Cannot /)]);
        expect(problem.status).toBeGreaterThanOrEqual(400);
      }
    }
  });
});

test("a broken file of the team or the routes refuses every change, and stays as it is", async () => {
  const home = join(gated.terminal.folder, ".gate");
  for (const [file, requests] of Object.entries(BROKEN)) {
    const path = join(home, file);
    const good = readFileSync(path, "utf8");
    for (const text of ["{ broken", "[]", '{"version":"1","members":{},"routes":{}}', "\0"]) {
      writeFileSync(path, text);
      for (const [method, address, body] of requests) {
        check(`${file}: ${method} ${address}`, await send(method, address, body));
      }
      expect(readFileSync(path, "utf8")).toBe(text);
    }
    writeFileSync(path, good);
  }
});

const BROKEN: Record<string, [method: string, path: string, body: Json][]> = {
  "team.json": [
    ["POST", "/api/team/members", { name: "Eve" }],
    ["PATCH", "/api/team/members/ben", { name: "Eve" }],
    ["POST", "/api/team/accept", { items_sha256: "0".repeat(64), number: 1 }],
  ],
  "approval_routes.json": [
    ["POST", "/api/approval-routes", route],
    ["PATCH", "/api/approval-routes/deploys", { quorum: 1 }],
    ["DELETE", "/api/approval-routes/deploys", undefined],
    ["POST", "/api/approval-routes/accept", { items_sha256: "0".repeat(64), number: 1 }],
  ],
};

describe("the command line", () => {
  test.each<[line: string, code: number]>([
    ["team add", 64],
    ["team add Eve --role owner", 64],
    ["team add Ann", 1],
    ["team add Eve --id ../x", 1],
    ["team add Eve --email nobody", 1],
    ["team change none --name X", 1],
    ["team change ann", 64],
    ["team change ann --role viewer", 1],
    ["team remove ben", 1],
    ["team remove none", 1],
    ["team link none", 1],
    ["team frobnicate", 64],
    ["route add", 64],
    ["route add New", 1],
    ["route add New --role viewer", 64],
    ["route add New --member nobody", 1],
    ["route add New --member ann --quorum 0", 64],
    ["route add New --member ann --quorum many", 64],
    ["route add New --member ann --quorum 2", 1],
    ["route add New --member ann --min-risk huge", 64],
    ["route add New --member ann --escalate-after 15m", 1],
    ["route add New --member ann --expires-after never", 64],
    ["route add Deploys --member ann", 1],
    ["route change deploys", 64],
    ["route change deploys --quorum 3", 1],
    ["route change none --quorum 1", 1],
    ["route remove none", 1],
    ["route test", 64],
    ["route test --path a --risk huge", 64],
    ["route test --path a --project none", 1],
    ["pending --project none", 1],
    ["pending --routed --project none", 1],
    ["pending --escalations --project none", 1],
    ["pending --routed --workspace all", 64],
    ["pending --routed --escalations", 64],
    [`approve ${UNKNOWN}`, 1],
    ["approve not-an-id", 64],
    ["approve", 64],
    [`reject ${UNKNOWN} --reason no`, 1],
    [`reject ${UNKNOWN}`, 64],
    ["reject", 64],
    ["project remove none", 1],
    ["project trust-override none", 1],
    [`session assess ${UNKNOWN}`, 1],
    ["session assess", 64],
    [`session evaluate ${UNKNOWN}`, 1],
    [`session recommend ${UNKNOWN}`, 1],
    ["session blocks --project none", 1],
    ["session end none", 1],
    ["session unblock none", 1],
    ["notify add pigeon ops", 64],
    ["notify add webhook ops", 64],
    ["notify add webhook ops --url http://example.com --secret-env KEY", 64],
    ["notify add webhook ops --url https://example.com --secret-env whsec_c2VjcmV0", 64],
    ["notify add slack ops --url https://hooks.example.com/x", 64],
    ["notify remove none", 1],
    ["notify test none", 1],
    ["notify retry", 64],
    ["notify discard none", 1],
  ])("gate %s", async (line, code) => {
    const ended = await gated.terminal.run(line.split(" "));
    expect([line, ended.code, ended.stdout]).toEqual([line, code, ""]);
    expect(ended.stderr).not.toMatch(/\n\s+at |Unexpected failure|node_modules/);
    // The cause on one line, and what to do next.
    expect([line, ended.stderr]).toEqual([line, expect.stringMatching(/\n {2}try: gate |[;:] /)]);
  });
});
